package inventory

import (
	"context"
	"errors"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/fault"
)

// Locks are named locks that all replicas share. With them only one replica at
// a time syncs a server. Implemented by locks.Locks.
type Locks interface {
	Hold(ctx context.Context, name string, wait bool, work func(context.Context) error) (held bool, err error)
}

// shareAny is like share for a scheduled sync. It accepts a sync that another
// replica stored after this one was scheduled.
func (s *Syncer) shareAny(ctx context.Context, serverID string) (SyncResult, error) {
	return s.share(ctx, serverID, s.schedule.plannedAt(serverID))
}

// syncLocked syncs a server while it holds the server's lock. If unlessSince is
// set, it adopts a result that another replica stored after that time instead
// of calling the upstream again.
func (s *Syncer) syncLocked(ctx context.Context, serverID string, unlessSince time.Time) (result SyncResult, err error) {
	sync := func(ctx context.Context) (err error) {
		ctx, cancel := context.WithTimeout(ctx, s.syncTime(serverID))
		defer cancel()
		result, err = s.sync(ctx, serverID)
		return err
	}
	if s.Locks == nil {
		err = sync(ctx)
		return result, err
	}
	wait, cancel := context.WithTimeout(ctx, maxTurnWait)
	defer cancel()
	held, err := s.Locks.Hold(wait, "sync "+serverID, true, func(context.Context) (err error) {
		if result, err = s.adoptStored(ctx, serverID, unlessSince); err != nil || result.shared {
			return err
		}
		return sync(ctx)
	})
	switch {
	case held:
		return result, err
	case s.life.Err() != nil:
		return result, errEnding().Because(err)
	}
	s.schedule.failed(serverID)
	if errors.Is(err, context.DeadlineExceeded) {
		return result, fault.New(fault.KindUnavailable, fault.CodeUnavailable, "Another replica is syncing this server. Retry shortly.").Because(err)
	}
	return result, fault.Internal(err)
}

// adoptStored returns the outcome of a sync that another replica stored after the
// given time. shared is false if there is none. The change feed delivers its
// snapshot.
func (s *Syncer) adoptStored(ctx context.Context, serverID string, after time.Time) (result SyncResult, err error) {
	if after.IsZero() {
		return result, nil
	}
	var server models.Server
	err = s.DB.WithContext(ctx).First(&server, "id = ?", serverID).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return result, nil // the sync itself returns the error
	}
	if err != nil {
		s.schedule.failed(serverID)
		return result, fault.Internal(err)
	}
	stored, err := inventoryOf(s.DB.WithContext(ctx), serverID)
	if err != nil {
		s.schedule.failed(serverID)
		return result, fault.Internal(err)
	}
	if stored == nil || !stored.AttemptedAt.After(after) || stored.AttemptedAt.Before(server.UpdatedAt) {
		return result, nil
	}
	ok := stored.ErrorCode == ""
	s.schedule.done(serverID, server.ConfigVersion, ok)
	if ok {
		s.schedule.synced(serverID, stored.AttemptedAt)
		s.schedule.watch(server)
	}
	s.Log.Debug("sync result adopted from another replica", "server", server.Alias, "server_id", serverID)
	return SyncResult{Server: server, shared: true}, nil
}
