package services

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"

	"mcpgateway/migrations"
	"mcpgateway/services/fault"
	"mcpgateway/services/notify"
)

// Fresh returns the time up to which this process has received every change.
func (s *Services) Fresh() time.Time { return s.feed.CaughtUpAt() }

// OlderReplicas reports whether a replica runs a version that ignores some of
// this version's settings, or returns the database's error.
func (s *Services) OlderReplicas(ctx context.Context) (bool, error) {
	return notify.OlderReplicas(s.DB.WithContext(ctx))
}

// Drain causes Ready to fail, so that load balancers stop sending requests.
func (s *Services) Drain() { s.draining.Store(true) }

// Draining reports whether Drain was called.
func (s *Services) Draining() bool { return s.draining.Load() }

// Ready returns nil if requests can be served: the process isn't draining, the
// database responds, its schema matches this program, and the catalog is
// loaded. While draining, which is normal, the error is a fault.
func (s *Services) Ready(ctx context.Context) error {
	if s.draining.Load() {
		return fault.New(fault.KindUnavailable, fault.CodeUnavailable, "Not ready.")
	}
	pool, err := s.DB.DB()
	if err != nil {
		return err
	}
	steps, err := migrations.Status(ctx, pool, s.DB.Name())
	if err != nil {
		return err
	}
	for _, step := range steps {
		if !step.Applied {
			return fmt.Errorf("migration %s is not applied", step.Name)
		}
	}
	if !s.Catalog.Loaded() {
		return errors.New("catalog is not loaded yet")
	}
	return nil
}

// Close ends upstream sessions and closes the database.
func (s *Services) Close() error {
	s.Runner.Close()
	s.Subscriptions.Close()
	s.pool.Close()
	s.probes.Close()
	s.Revisions.Wait()
	s.Connections.Close()
	s.endTrace()
	s.clients.Close()
	return errors.Join(s.locks.Close(), closeDB(s.DB))
}

func closeDB(db *gorm.DB) error {
	pool, err := db.DB()
	if err != nil {
		return err
	}
	return pool.Close()
}
