package inventory

import (
	"context"
	"errors"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/fault"
)

// Locks are named locks that all replicas respect. With them the syncs of a
// server take turns among all replicas. Implemented by locks.Locks.
type Locks interface {
	Hold(ctx context.Context, name string, wait bool, work func(context.Context) error) (held bool, err error)
}

// shareAny is share for a sync that nobody waits for: one that another replica
// stored since this one was planned does as well.
func (s *Syncer) shareAny(ctx context.Context, serverID string) (SyncResult, error) {
	return s.share(ctx, serverID, s.schedule.plannedAt(serverID))
}

// syncAlone syncs a server while no other replica does. With unlessSince it
// takes over what another one found after that time, instead of asking the
// upstream the same again.
func (s *Syncer) syncAlone(ctx context.Context, serverID string, unlessSince time.Time) (result SyncResult, err error) {
	sync := func(ctx context.Context) (err error) {
		ctx, cancel := context.WithTimeout(ctx, SyncTimeout)
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
		if result, err = s.takeOver(ctx, serverID, unlessSince); err != nil || result.shared {
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
		return result, fault.New(fault.KindUnavailable, fault.CodeUnavailable, "another replica has been reading this server for long: sync again in a moment").Because(err)
	}
	return result, fault.Internal(err)
}

// takeOver returns the outcome of a sync that another replica stored after the
// time, as if this one had read it; shared is false when there is none. The
// snapshot of it comes by the change feed.
func (s *Syncer) takeOver(ctx context.Context, serverID string, after time.Time) (result SyncResult, err error) {
	if after.IsZero() {
		return result, nil
	}
	var server models.Server
	err = s.DB.WithContext(ctx).First(&server, "id = ?", serverID).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return result, nil // the sync itself says so
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
	s.Log.Debug("another replica has synced", "server", server.Alias, "server_id", serverID)
	return SyncResult{Server: server, shared: true}, nil
}
