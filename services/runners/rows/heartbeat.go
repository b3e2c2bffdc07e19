package rows

import (
	"context"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"mcpgateway/models"
	"mcpgateway/services/fault"
)

// Start stores this replica as live.
func (s *Store) Start(ctx context.Context) error { return s.Beat(ctx) }

// Run stores the heartbeat of this replica at every interval until ctx ends. The
// replica then stays live for the rest of Lifetime, so that a restart doesn't
// hide its servers.
func (s *Store) Run(ctx context.Context) {
	tick := time.NewTicker(BeatInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := s.Beat(ctx); err != nil && ctx.Err() == nil {
			s.options.Log.WarnContext(ctx, "replica heartbeat not stored", "error", err)
		}
	}
}

// Beat stores a heartbeat and reads what other replicas declare. If the replica was deleted as dead, for example after
// its machine slept, Beat stores its declarations again. It returns the
// database's error.
func (s *Store) Beat(ctx context.Context) error {
	seen := s.options.DB.WithContext(ctx).Model(&models.Replica{}).Where("id = ?", s.replica).Update("seen_at", s.options.Now())
	if seen.Error != nil {
		return fault.Internal(seen.Error)
	}
	if seen.RowsAffected > 0 {
		return s.readOthers(ctx)
	}
	if err := s.rejoin(ctx); err != nil {
		return err
	}
	return s.readOthers(ctx)
}

// readOthers reads which servers other live replicas declare.
func (s *Store) readOthers(ctx context.Context) error {
	var ids []string
	err := s.options.DB.WithContext(ctx).Model(&models.Declaration{}).Distinct("server_id").
		Where("replica_id <> ? AND replica_id IN (SELECT id FROM replicas WHERE seen_at > ?)", s.replica, s.deadline()).Pluck("server_id", &ids).Error
	if err != nil {
		return fault.Internal(err)
	}
	others := make(map[string]bool, len(ids))
	for _, id := range ids {
		others[id] = true
	}
	s.elsewhere.Store(&others)
	return nil
}

// rejoin stores this replica with its declarations.
func (s *Store) rejoin(ctx context.Context) error {
	return s.change(ctx, func(c *change) error {
		if err := c.join(); err != nil {
			return err
		}
		s.mu.Lock()
		ids := map[string]string{}
		for _, hashes := range s.declared {
			for id, hash := range hashes {
				ids[id] = hash
			}
		}
		s.mu.Unlock()
		return c.restore(ids)
	})
}

// join stores this replica unless it is stored.
func (c *change) join() error {
	return c.tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&models.Replica{ID: c.store.replica, SeenAt: c.store.options.Now()}).Error
}

// restore declares servers again, those that still exist.
func (c *change) restore(hashes map[string]string) error {
	if len(hashes) == 0 {
		return nil
	}
	ids := make([]string, 0, len(hashes))
	for id := range hashes {
		ids = append(ids, id)
	}
	var rows []models.Server
	if err := c.tx.Find(&rows, "id IN ?", ids).Error; err != nil {
		return err
	}
	declared := map[string]string{}
	for _, row := range rows {
		declared[row.ID] = hashes[row.ID]
	}
	if err := c.declare(declared); err != nil {
		return err
	}
	return c.settle(rows, func(row *models.Server) bool { return row.Undeclared && row.Source == models.SourceConnector })
}

// Sweep deletes dead replicas and hides the servers that no live one declares,
// and those of connectors that may not connect any more. One replica calls it at
// every SweepInterval. In the first Lifetime of the process it hides nothing,
// because a runner that starts with it has not listed its servers yet.
func (s *Store) Sweep(ctx context.Context) error {
	if s.options.Now().Sub(s.started) < Lifetime {
		return nil
	}
	db := s.options.DB.WithContext(ctx)
	if err := db.Delete(&models.Replica{}, "seen_at <= ? AND id <> ?", s.deadline(), s.replica).Error; err != nil {
		return fault.Internal(err)
	}
	var found int64
	if err := s.lost(db.Model(&models.Server{})).Count(&found).Error; err != nil {
		return fault.Internal(err)
	}
	if found == 0 {
		return nil
	}
	return s.change(ctx, func(c *change) error {
		var rows []models.Server
		if err := s.lost(c.tx).Find(&rows).Error; err != nil {
			return err
		}
		return c.settle(rows, func(*models.Server) bool { return true })
	})
}

// lost selects the servers that are wrongly shown as declared.
func (s *Store) lost(tx *gorm.DB) *gorm.DB {
	return tx.Where(`NOT undeclared AND (
		source IN ('local', 'config') AND NOT EXISTS (SELECT 1 FROM declarations WHERE declarations.server_id = servers.id)
		OR source = 'connector' AND NOT EXISTS (SELECT 1 FROM connectors WHERE connectors.id = servers.connector_id AND revoked_at IS NULL AND expires_at > ?))`, s.options.Now())
}
