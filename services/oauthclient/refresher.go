package oauthclient

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"mcpgateway/models"
	"mcpgateway/services/secrets"
)

// Run renews tokens before they end, until the context ends. Of all processes
// of the gateway one renews a token each time: the others find its lock taken,
// and then the token renewed.
func (c *Connections) Run(ctx context.Context) {
	for {
		next := time.NewTimer(c.renewDue(ctx))
		// However often it is woken, the database has some peace.
		select {
		case <-ctx.Done():
		case <-time.After(shortestSleep):
		}
		select {
		case <-ctx.Done():
			next.Stop()
			return
		case <-next.C:
		case <-c.wake:
			next.Stop()
		}
	}
}

// renewDue renews what is due and returns when to look again.
func (c *Connections) renewDue(ctx context.Context) time.Duration {
	rows, err := c.renewables(ctx)
	if err != nil {
		c.Log.Warn("the connections to renew could not be read", "error", err)
		return longestSleep
	}
	now := c.Now()
	wait := longestSleep
	var group errgroup.Group
	group.SetLimit(refreshTogether)
	for i := range rows {
		at := dueAt(&rows[i])
		if at.After(now) {
			wait = min(wait, at.Sub(now))
			continue
		}
		// Looking again soon finds whether it was this process or another.
		wait = min(wait, time.Second)
		group.Go(c.Tasks.ErrFunc("renewal of a token", func() error {
			c.renewInBackground(ctx, rows[i].ServerID)
			return nil
		}))
	}
	_ = group.Wait() // only panics are errors, and those are logged
	return max(wait, shortestSleep)
}

// renewables returns the connections that are due next, of servers that are in
// use.
func (c *Connections) renewables(ctx context.Context) ([]models.Connection, error) {
	// A query that is cut off would be logged as a failure.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
	defer cancel()
	var rows []models.Connection
	err := c.DB.WithContext(ctx).Select("server_id", "refresh_at", "next_attempt_at").
		Where("refresh_at IS NOT NULL AND refresh_token <> ''").
		Where("server_id IN (?)", c.DB.Model(&models.Server{}).Select("id").Where("enabled = ? AND auth_type = ?", true, models.UpstreamAuthOAuth)).
		Order("CASE WHEN next_attempt_at > refresh_at THEN next_attempt_at ELSE refresh_at END, server_id").Limit(dueBatch).Find(&rows).Error
	return rows, err
}

func dueAt(r *models.Connection) time.Time {
	at := *r.RefreshAt
	if r.NextAttemptAt != nil && r.NextAttemptAt.After(at) {
		return *r.NextAttemptAt
	}
	return at
}

// renewInBackground renews one token unless another process does. Why it
// failed is in the connection's status.
func (c *Connections) renewInBackground(ctx context.Context, serverID string) {
	_, err := c.once(ctx, "background "+serverID, func(ctx context.Context) (*opened, error) {
		server, err := c.server(ctx, serverID)
		if err != nil {
			return nil, err
		}
		var o *opened
		_, err = c.Locks.Hold(ctx, lockOf(serverID), false, func(context.Context) (err error) {
			if o, err = c.read(ctx, serverID); err != nil {
				return err
			}
			if c.unusable(o, server.Server) != nil {
				return c.rest(ctx, o)
			}
			o, err = c.renew(ctx, server.Server, secrets.Value{})
			return err
		})
		return o, err
	})
	if err != nil && ctx.Err() == nil {
		c.Log.Debug("a token was not renewed in the background", "server", serverID, "error", err)
	}
}

// rest takes a connection out of background renewal whose tokens may not be
// used as the server is configured at present. A call renews it when they may.
func (c *Connections) rest(ctx context.Context, o *opened) error {
	next := o.Connection
	next.RefreshAt = nil
	return c.save(ctx, &next, change{})
}
