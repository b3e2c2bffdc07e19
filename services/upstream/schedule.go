package upstream

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/notify"
)

// How often and how much at once is synced.
const (
	SyncTimeout  = 20 * time.Second // of one sync
	SyncInterval = 15 * time.Minute // between the syncs of a healthy server, ± jitter
	syncJitter   = 0.1              // share of the interval
	syncRetry    = 15 * time.Second // after the first failure; doubles up to the interval
	syncParallel = 8
	storeTimeout = 30 * time.Second
)

// schedule knows when each server is to be synced next. It holds no timers:
// the runner asks it what is due and when to ask again.
type schedule struct {
	mu      sync.Mutex
	now     func() time.Time
	entries map[string]*scheduled
	wake    chan struct{}
}

type scheduled struct {
	next     time.Time
	version  int64 // of the configuration that was synced or is being synced
	failures int
	running  bool
}

func newSchedule(now func() time.Time) *schedule {
	return &schedule{now: now, entries: map[string]*scheduled{}, wake: make(chan struct{}, 1)}
}

// want makes a server due at once when its configuration is new to the schedule.
func (s *schedule) want(serverID string, version int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.entries[serverID]; e != nil && e.version == version {
		return
	}
	s.entries[serverID] = &scheduled{next: s.now(), version: version}
	s.poke()
}

// keep forgets every server that is not in want.
func (s *schedule) keep(want map[string]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range s.entries {
		if !want[id] {
			delete(s.entries, id)
		}
	}
}

func (s *schedule) forget(serverID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.entries, serverID)
}

// due makes a server due at once.
func (s *schedule) due(serverID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.entries[serverID]; e != nil {
		e.next = s.now()
		s.poke()
	}
}

// done plans the next sync of a server after one of the given configuration.
func (s *schedule) done(serverID string, version int64, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.entries[serverID]
	if e == nil || e.version > version {
		return
	}
	e.version = version
	e.plan(s.now(), ok)
}

// failed plans a retry of a server whose configuration could not be read.
func (s *schedule) failed(serverID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.entries[serverID]; e != nil {
		e.plan(s.now(), false)
	}
}

// plan sets when the server is next due after a sync that ended now.
func (e *scheduled) plan(now time.Time, ok bool) {
	wait := SyncInterval
	if ok {
		e.failures = 0
	} else {
		wait = min(syncRetry<<min(e.failures, 10), SyncInterval)
		e.failures++
	}
	e.next = now.Add(time.Duration(float64(wait) * (1 + syncJitter*(2*rand.Float64()-1))))
}

// take returns the servers that are due and marks them as running, and how
// long to wait for the next one.
func (s *schedule) take(max int) (ids []string, wait time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	wait = SyncInterval
	for id, e := range s.entries {
		switch left := e.next.Sub(now); {
		case e.running:
		case left > 0:
			wait = min(wait, left)
		case len(ids) < max: // the others go when a sync ends
			e.running = true
			ids = append(ids, id)
		}
	}
	return ids, wait
}

func (s *schedule) finished(serverID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.entries[serverID]; e != nil {
		e.running = false
	}
	s.poke()
}

func (s *schedule) poke() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Changed plans syncs for what a toolset topic brought: new servers and new
// configurations at once; disabled and deleted ones never. Other topics are
// ignored.
func (s *Syncer) Changed(ctx context.Context, topic notify.Topic) error {
	if _, ok := topic.ToolsetOf(); !ok {
		return nil
	}
	return s.Plan(ctx)
}

// Plan reads which servers there are and plans a sync for each whose
// configuration has not been synced by this process.
func (s *Syncer) Plan(ctx context.Context) error {
	var rows []models.Server
	err := s.db.WithContext(ctx).Select("id", "config_version").Find(&rows, "enabled = ?", true).Error
	if err != nil {
		return fault.Internal(err)
	}
	want := make(map[string]bool, len(rows))
	for _, row := range rows {
		want[row.ID] = true
		s.schedule.want(row.ID, row.ConfigVersion)
	}
	s.schedule.keep(want)
	return nil
}

// Run syncs every planned server when it is due, a few at a time, until the
// context ends; then it waits for the syncs under way.
func (s *Syncer) Run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	slots := make(chan struct{}, syncParallel)
	for ctx.Err() == nil {
		ids, wait := s.schedule.take(syncParallel - len(slots))
		for _, id := range ids {
			slots <- struct{}{}
			running.Go(func() {
				defer func() { <-slots; s.schedule.finished(id) }()
				_, _ = s.Sync(ctx, id) // the outcome is stored and logged
			})
		}
		timer := time.NewTimer(max(wait, time.Millisecond))
		select {
		case <-ctx.Done():
		case <-s.schedule.wake:
		case <-timer.C:
		}
		timer.Stop()
	}
}
