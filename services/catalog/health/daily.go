package health

import (
	"context"
	"time"

	"gorm.io/gorm"

	"mcpgateway/services/fault"
	"mcpgateway/services/notify"
)

// Run checks every visible remote server once a day, one after the other and
// spread over the day, until the context ends. Only one process may run it.
func (c *Checker) Run(ctx context.Context) {
	for {
		wait, err := c.step(ctx)
		if err != nil && ctx.Err() == nil {
			c.Log.WarnContext(ctx, "catalog check failed", "error", err)
			wait = idlePause
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// step checks the next server if one is due. It returns the time until the next
// step.
func (c *Checker) step(ctx context.Context) (time.Duration, error) {
	next, err := c.due(ctx)
	if err != nil {
		return 0, err
	}
	if next.id == "" || next.checkedAt != nil && c.Now().Before(next.checkedAt.Add(day)) {
		return idlePause, c.publish(ctx)
	}
	entry, err := c.entry(ctx, next.id)
	if err != nil {
		return 0, err
	}
	f, err := c.probe(ctx, entry)
	if err != nil {
		return 0, err
	}
	if _, err := c.store(ctx, next.id, f, nil); err != nil && !fault.Is(err, fault.CodeNotFound) {
		return 0, err
	}
	c.unpublished = true
	return pauseOf(next.servers), c.publish(ctx)
}

// pauseOf returns the time between two checks that spreads those of all servers
// over a day.
func pauseOf(servers int) time.Duration { return max(day/time.Duration(servers), minPause) }

// publish announces the stored checks, at most once a minute.
func (c *Checker) publish(ctx context.Context) error {
	now := c.Now()
	if !c.unpublished || now.Before(c.publishedAt.Add(publishInterval)) {
		return nil
	}
	err := c.DB.WithContext(ctx).Transaction(func(tx *gorm.DB) error { return notify.Touch(tx, notify.Catalog()) })
	if err != nil {
		return err
	}
	c.unpublished, c.publishedAt = false, now
	return c.Feed.Publish(ctx, notify.Catalog())
}
