package icons

import (
	"context"
	"errors"
	"net/url"
	"sync"
	"time"

	"gorm.io/gorm"

	"mcpgateway/services/notify"
)

// Run fetches scheduled icons until the context ends, at most four at once.
func (s *Icons) Run(ctx context.Context) {
	if s == nil {
		return
	}
	var running sync.WaitGroup
	for range maxFetches {
		running.Go(s.Tasks.Func("catalog icon", func() { s.work(ctx) }))
	}
	s.announce(ctx)
	running.Wait()
}

// work fetches one icon after the other.
func (s *Icons) work(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case address := <-s.queue:
			// A panic of a decoder must not end the worker.
			if err := s.Tasks.Try("catalog icon", func() error { return s.update(ctx, address) }); err != nil && ctx.Err() == nil {
				s.Log.WarnContext(ctx, "catalog icon not stored", "error", err)
			}
			s.mu.Lock()
			delete(s.pending, keyOf(address))
			s.mu.Unlock()
		}
	}
}

// update fetches and stores the icon at a URL, unless another process has done
// so or does so now. A refusal is stored and logged unless the last one was the
// same. It returns an error of the database.
func (s *Icons) update(ctx context.Context, address string) error {
	k := keyOf(address)
	last, claimed, err := s.claim(ctx, k, address)
	if err != nil {
		return err
	}
	if !claimed {
		s.remember(k, state{last.Hash, last.TriedAt})
		return nil
	}
	icon, err := s.fetch(ctx, address)
	if ctx.Err() != nil {
		return s.release(ctx, k)
	}
	if err != nil {
		reason := reasonOf(err)
		if reason != last.Error {
			s.Log.InfoContext(ctx, "catalog icon refused", "host", hostOf(address), "reason", reason)
		}
		s.remember(k, state{triedAt: last.TriedAt})
		return s.storeRefusal(ctx, k, reason)
	}
	hash, err := s.store(ctx, k, icon)
	if err != nil {
		return err
	}
	s.remember(k, state{hash, last.TriedAt})
	select {
	case s.stored <- struct{}{}:
	default:
	}
	return nil
}

func (s *Icons) remember(k key, last state) {
	s.mu.Lock()
	s.known[k] = last
	s.mu.Unlock()
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}

// announce publishes stored icons to other processes, at most once per second.
func (s *Icons) announce(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.stored:
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(publishInterval):
		}
		err := s.DB.WithContext(ctx).Transaction(func(tx *gorm.DB) error { return notify.Touch(tx, notify.CatalogIcons()) })
		if err = errors.Join(err, s.Feed.Publish(ctx, notify.CatalogIcons())); err != nil && ctx.Err() == nil {
			s.Log.WarnContext(ctx, "catalog icons not published", "error", err)
		}
	}
}
