package oauthclient

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"mcpgateway/services/oauthclient/accounts"
	"mcpgateway/services/secrets"
)

// Run refreshes tokens before they expire, until the context is done. A lock
// ensures that one process refreshes each token. It also stores when users' own
// accounts were used.
func (c *Connections) Run(ctx context.Context) {
	var saving sync.WaitGroup
	defer saving.Wait()
	saving.Go(c.Tasks.Loop(ctx, "use of connections", c.saveUses))
	for {
		next := time.NewTimer(c.renewDue(ctx))
		// Limits the rate of queries when woken often.
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

// saveUses stores the times of use periodically and at the end.
func (c *Connections) saveUses(ctx context.Context) {
	tick := time.NewTicker(saveUsesEvery)
	defer tick.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
		c.SaveUses(ctx)
	}
}

// SaveUses stores when users' own accounts were used, to within an hour. It logs
// a failure.
func (c *Connections) SaveUses(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
	defer cancel()
	if err := c.uses.Save(ctx, c.DB, c.Now()); err != nil {
		c.Log.Warn("use of connections not saved", "error", err)
	}
}

// renewDue refreshes due tokens and returns the time until the next check.
func (c *Connections) renewDue(ctx context.Context) time.Duration {
	now := c.Now()
	due, err := c.nextDue(ctx, now)
	if err != nil {
		c.Log.Warn("due connections not loaded", "error", err)
		return longestSleep
	}
	wait := longestSleep
	var group errgroup.Group
	group.SetLimit(refreshTogether)
	for _, next := range due {
		if next.At.After(now) {
			wait = min(wait, next.At.Sub(now))
			break
		}
		// Check again soon: another process may hold the lock.
		wait = min(wait, time.Second)
		group.Go(c.Tasks.ErrFunc("token refresh", func() error {
			c.renewInBackground(ctx, next.ID)
			return nil
		}))
	}
	_ = group.Wait() // only panics return errors, and they are logged
	return max(wait, shortestSleep)
}

func (c *Connections) nextDue(ctx context.Context, now time.Time) ([]accounts.Due, error) {
	// A cancelled query would be logged as a failure.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
	defer cancel()
	return accounts.NextDue(c.DB.WithContext(ctx), now, refreshBatch)
}

// renewInBackground refreshes one token unless another process does. The
// connection's status has the reason for a failure.
func (c *Connections) renewInBackground(ctx context.Context, id accounts.ID) {
	_, err := c.singleflight(ctx, "background "+id.String(), func(ctx context.Context) (*accounts.Connection, error) {
		s, err := c.subject(ctx, id)
		if err != nil {
			return nil, err
		}
		var o *accounts.Connection
		_, err = c.Locks.Hold(ctx, id.Lock(), false, func(context.Context) (err error) {
			if o, err = c.read(ctx, id); err != nil {
				return err
			}
			if c.unusable(ownOf(o, &s.Server), &s.account) != nil {
				return c.suspendRefresh(ctx, o)
			}
			o, err = c.renew(ctx, s.account, secrets.Value{})
			return err
		})
		return o, err
	})
	if err != nil && ctx.Err() == nil {
		c.Log.Debug("background token refresh failed", "account", id, "error", err)
	}
}

// suspendRefresh removes a connection from background refreshes because its tokens don't
// match the server's configuration. A call refreshes it once they do.
func (c *Connections) suspendRefresh(ctx context.Context, o *accounts.Connection) error {
	next := o.PersonalConnection
	next.RefreshAt = nil
	return c.save(ctx, &next, change{})
}
