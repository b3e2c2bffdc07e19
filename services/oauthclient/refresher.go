package oauthclient

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"mcpgateway/models"
	"mcpgateway/services/secrets"
)

// Run refreshes tokens before they expire, until the context is done. A lock
// ensures that one process refreshes each token.
func (c *Connections) Run(ctx context.Context) {
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

// renewDue refreshes due tokens and returns the time until the next check.
func (c *Connections) renewDue(ctx context.Context) time.Duration {
	rows, err := c.renewables(ctx)
	if err != nil {
		c.Log.Warn("due connections not loaded", "error", err)
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
		// Check again soon: another process may hold the lock.
		wait = min(wait, time.Second)
		group.Go(c.Tasks.ErrFunc("token refresh", func() error {
			c.renewInBackground(ctx, rows[i].ServerID)
			return nil
		}))
	}
	_ = group.Wait() // only panics return errors, and they are logged
	return max(wait, shortestSleep)
}

// renewables returns the next due connections of enabled servers.
func (c *Connections) renewables(ctx context.Context) ([]models.Connection, error) {
	// A cancelled query would be logged as a failure.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
	defer cancel()
	var rows []models.Connection
	err := c.DB.WithContext(ctx).Select("server_id", "refresh_at", "next_attempt_at").
		Where("refresh_at IS NOT NULL AND (refresh_token <> '' OR registration_kind = ?)", OwnClient).
		Where("server_id IN (?)", c.DB.Model(&models.Server{}).Select("id").Where("enabled = ? AND auth_type = ?", true, models.UpstreamAuthOAuth)).
		Order("CASE WHEN next_attempt_at > refresh_at THEN next_attempt_at ELSE refresh_at END, server_id").Limit(refreshBatch).Find(&rows).Error
	return rows, err
}

func dueAt(r *models.Connection) time.Time {
	at := *r.RefreshAt
	if r.NextAttemptAt != nil && r.NextAttemptAt.After(at) {
		return *r.NextAttemptAt
	}
	return at
}

// renewInBackground refreshes one token unless another process does. The
// connection's status has the reason for a failure.
func (c *Connections) renewInBackground(ctx context.Context, serverID string) {
	_, err := c.singleflight(ctx, "background "+serverID, func(ctx context.Context) (*decryptedConnection, error) {
		server, err := c.server(ctx, serverID)
		if err != nil {
			return nil, err
		}
		var o *decryptedConnection
		_, err = c.Locks.Hold(ctx, lockOf(serverID), false, func(context.Context) (err error) {
			if o, err = c.read(ctx, serverID); err != nil {
				return err
			}
			if c.unusable(o.of(&server.Server), server.Server) != nil {
				return c.suspendRefresh(ctx, o)
			}
			o, err = c.renew(ctx, server.Server, secrets.Value{})
			return err
		})
		return o, err
	})
	if err != nil && ctx.Err() == nil {
		c.Log.Debug("background token refresh failed", "server", serverID, "error", err)
	}
}

// suspendRefresh removes a connection from background refreshes because its tokens don't
// match the server's configuration. A call refreshes it once they do.
func (c *Connections) suspendRefresh(ctx context.Context, o *decryptedConnection) error {
	next := o.Connection
	next.RefreshAt = nil
	return c.save(ctx, &next, change{})
}
