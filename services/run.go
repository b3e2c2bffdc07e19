package services

import (
	"context"
	"fmt"
	"sync"
	"time"

	"mcpgateway/services/notify"
)

// saveUseInterval is how often the moments of last use of keys are stored.
const saveUseInterval = time.Minute

// part is one named thing of a list: what is done, and by which function.
type part[F any] struct {
	name string
	do   F
}

// subscribers act on each committed change, in this order, whichever replica
// made it.
func (s *Services) subscribers() []part[func(context.Context, notify.Topic) error] {
	return []part[func(context.Context, notify.Topic) error]{
		{"snapshots of projects", s.Directory.Changed},
		{"keys", s.keyIndex.Changed},
		{"access tokens", s.tokenIndex.Changed},
		{"connections to upstreams", s.Connections.Changed},
		{"connections that wait for a person", s.Waiting.Changed},
		{"plan of syncs", s.Syncer.Changed},
		{"sessions and indexes of what is gone", s.forget},
		{"subscriptions of clients", s.Subscriptions.Changed},
		{"ended sessions", s.EndedSessions.Changed},
		{"log levels", s.LogLevels.Changed},
		{"catalog", s.Catalog.Changed},
	}
}

// loads are what is read into memory before the first request, in this order.
func (s *Services) loads() []part[func(context.Context) error] {
	return []part[func(context.Context) error]{
		{"snapshots of projects", s.Directory.Load},
		{"keys", s.keyIndex.Load},
		{"connections that wait for a person", s.Waiting.Load},
		{"ended sessions", s.EndedSessions.Load},
		{"log levels", s.LogLevels.Load},
		{"built-in catalog", s.loadBuiltinCatalog},
		{"catalog", s.Catalog.Load},
		{"plan of syncs", s.Syncer.Plan},
	}
}

// loops are what runs in every replica from the first request on.
func (s *Services) loops() []part[func(context.Context)] {
	return []part[func(context.Context)]{
		{"syncs", s.Syncer.Run},
		{"connections", s.Connections.Run},
		{"use of keys", s.saveUse},
		{"log of calls", s.Calls.Run},
		{"traces of code", s.CodeRuns.Run},
		{"catalog", s.Catalog.Run},
	}
}

// Run loads what requests are answered from and then keeps it true until the
// context ends: it hears of changes, also from upstream servers, syncs these
// and stores when keys were used. ready is called once requests can be served.
func (s *Services) Run(ctx context.Context, ready func()) error {
	for _, subscriber := range s.subscribers() {
		s.feed.Subscribe(subscriber.do)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var running sync.WaitGroup
	defer running.Wait()
	feedEnd := make(chan error, 1)
	running.Go(s.Background.Loop(ctx, "change feed", func(ctx context.Context) { feedEnd <- s.feed.Run(ctx) }))
	for _, load := range s.loads() {
		if err := load.do(ctx); err != nil {
			cancel()
			return fmt.Errorf("load the %s: %w", load.name, err)
		}
	}
	if err := s.keepReserve(ctx); err != nil {
		s.log.Warn("disk reserve not filled", "error", err)
	}
	sweeps := s.sweeps() // before others work with the services
	ready()
	for _, loop := range s.loops() {
		running.Go(s.Background.Loop(ctx, loop.name, loop.do))
	}
	for _, sweep := range sweeps {
		name := "sweep " + sweep.name
		running.Go(s.Background.Loop(ctx, name, func(ctx context.Context) { s.locks.Own(ctx, name, sweep.run) }))
	}
	select {
	case <-ctx.Done():
		return nil
	case err := <-feedEnd:
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("the change feed ended: %w", err)
	}
}

// loadBuiltinCatalog puts the catalog that comes along into the database, where
// it is wanted and not there yet.
func (s *Services) loadBuiltinCatalog(ctx context.Context) error {
	if !s.Config.BuiltinCatalog {
		return nil
	}
	return s.CatalogStore.LoadDefaults(ctx)
}

// forget ends the upstream sessions of servers that are off and drops the
// search index of a project that is gone.
func (s *Services) forget(_ context.Context, topic notify.Topic) error {
	projectID, ok := topic.ToolsetOf()
	if !ok {
		return nil
	}
	project := s.Directory.ProjectByID(projectID)
	if project == nil {
		s.search.Forget(projectID)
		s.Declarations.Forget(projectID)
		s.Gateway.Forget(projectID)
		return nil
	}
	for _, server := range project.Servers {
		if !server.Config.Enabled {
			s.pool.Drop(server.Config.ID)
		}
	}
	return nil
}

func (s *Services) saveUse(ctx context.Context) {
	tick := time.NewTicker(saveUseInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
			defer cancel()
			if err := s.keyIndex.SaveUse(last); err != nil {
				s.log.Warn("the last use of keys was not stored", "error", err)
			}
			return
		case <-tick.C:
			if err := s.keyIndex.SaveUse(ctx); err != nil && ctx.Err() == nil {
				s.log.Warn("the last use of keys was not stored", "error", err)
			}
		}
	}
}
