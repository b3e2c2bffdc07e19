package inventory

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
	maxTurnWait  = 25 * time.Second // for another replica that syncs the same server
	storeTimeout = 30 * time.Second

	offersTimeout = 10 * time.Second       // of the lists beside the tools
	soonDelay     = 100 * time.Millisecond // after a change was announced, for further ones to come
	soonSpacing   = time.Second            // between announced syncs; doubles while they find nothing
	soonMaxFactor = 6                      // how often it doubles
	firstLook     = 10 * time.Second       // after a stream was opened, for what changed in between
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
	since    time.Time // when next was planned
	version  int64     // of the configuration that was synced or is being synced
	failures int
	running  bool
	synced   time.Time // when it was last known to have been; zero before

	soon      time.Time      // when to sync because of an announcement; zero without one
	announced time.Time      // when the latest such sync began
	fruitless int            // how many of them in a row found nothing
	watched   *models.Server // to be watched; nil before its configuration was synced
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
	now := s.now()
	s.entries[serverID] = &scheduled{next: now, since: now, version: version}
	s.poke()
}

// keep forgets every server that is not in want, and returns those.
func (s *schedule) keep(want map[string]bool) (forgotten []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range s.entries {
		if !want[id] {
			delete(s.entries, id)
			forgotten = append(forgotten, id)
			s.poke() // its watch is to end
		}
	}
	return forgotten
}

func (s *schedule) forget(serverID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.entries[serverID] != nil {
		delete(s.entries, serverID)
		s.poke()
	}
}

// due makes a server due at once.
func (s *schedule) due(serverID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.entries[serverID]; e != nil {
		e.next = s.now()
		e.since = e.next
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

// synced notes when a server was synced.
func (s *schedule) synced(serverID string, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.entries[serverID]; e != nil && at.After(e.synced) {
		e.synced = at
	}
}

// syncedAt returns when a server was last known to have been synced, or zero.
func (s *schedule) syncedAt(serverID string) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.entries[serverID]; e != nil {
		return e.synced
	}
	return time.Time{}
}

// isDue reports whether nobody synced a server since it became due.
func (s *schedule) isDue(serverID string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.entries[serverID]
	return e != nil && !e.next.After(s.now())
}

// plannedAt returns when the next sync of a server was planned, which was at
// the end of the one before.
func (s *schedule) plannedAt(serverID string) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.entries[serverID]; e != nil {
		return e.since
	}
	return time.Time{}
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
	e.since = now
	e.next = now.Add(time.Duration(float64(wait) * (1 + syncJitter*(2*rand.Float64()-1))))
}

// planned is a server whose sync is due.
type planned struct {
	serverID  string
	announced bool // the server said that something changed
}

// take returns the servers that are due and marks them as running, and how
// long to wait for the next one.
func (s *schedule) take(max int) (due []planned, wait time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	wait = SyncInterval
	for id, e := range s.entries {
		at := e.next
		if !e.soon.IsZero() && e.soon.Before(at) {
			at = e.soon
		}
		switch left := at.Sub(now); {
		case e.running:
		case left > 0:
			wait = min(wait, left)
		case len(due) < max: // the others go when a sync ends
			e.running = true
			announced := !e.soon.IsZero()
			if announced {
				e.soon, e.announced = time.Time{}, now
			}
			due = append(due, planned{id, announced})
		}
	}
	return due, wait
}

// announce makes a server due soon, because it said that something changed.
// One such sync waits at most; one that is running may have read too early.
func (s *schedule) announce(serverID string, delay time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.entries[serverID]
	if e == nil {
		return
	}
	at := s.now().Add(delay)
	if earliest := e.announced.Add(soonSpacing << min(e.fruitless, soonMaxFactor)); at.Before(earliest) {
		at = earliest
	}
	if e.soon.IsZero() || at.Before(e.soon) {
		e.soon = at
		s.poke()
	}
}

// heeded notes whether a sync found anything. Servers that announce changes
// without making any are listened to less and less.
func (s *schedule) heeded(serverID string, changed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch e := s.entries[serverID]; {
	case e == nil:
	case changed:
		e.fruitless = 0
	case !e.announced.IsZero():
		e.fruitless++
	}
}

// watch makes a server one to be watched, because it was synced.
func (s *schedule) watch(server models.Server) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.entries[server.ID]; e != nil && e.version == server.ConfigVersion {
		e.watched = &server
		s.poke()
	}
}

// watched returns the servers to be watched, by id.
func (s *schedule) watched() map[string]*models.Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make(map[string]*models.Server, len(s.entries))
	for id, e := range s.entries {
		if e.watched != nil {
			all[id] = e.watched
		}
	}
	return all
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
// configurations at once; disabled and deleted ones never. What syncs changed
// brings nothing. Other topics are ignored.
func (s *Syncer) Changed(ctx context.Context, topic notify.Topic) error {
	projectID, ok := topic.ToolsetOf()
	if !ok {
		return nil
	}
	return s.configurations.Act(ctx, s.DB, projectID, s.Plan)
}

// Plan reads which servers there are and plans a sync for each whose
// configuration has not been synced by this process. The sessions with those
// that were disabled or deleted end.
func (s *Syncer) Plan(ctx context.Context) error {
	var rows []models.Server
	err := s.DB.WithContext(ctx).Select("id", "config_version").Find(&rows, "enabled = ?", true).Error
	if err != nil {
		return fault.Internal(err)
	}
	want := make(map[string]bool, len(rows))
	for _, row := range rows {
		want[row.ID] = true
		s.schedule.want(row.ID, row.ConfigVersion)
	}
	for _, id := range s.schedule.keep(want) {
		s.Pool.Drop(id)
	}
	return nil
}

// Run syncs every planned server when it is due, a few at a time, and hears
// what those that were synced say on their own, until the context ends; then
// it ends the syncs under way and waits for them. It runs once.
func (s *Syncer) Run(ctx context.Context) {
	defer s.finish()
	s.Tasks.Loop(ctx, "syncs of upstreams", s.runPlanned)()
}

// runPlanned is the loop of Run.
func (s *Syncer) runPlanned(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	watches := newWatches(s)
	defer watches.end()
	slots := make(chan struct{}, syncParallel)
	for ctx.Err() == nil {
		watches.follow(ctx, s.schedule.watched())
		due, wait := s.schedule.take(syncParallel - len(slots))
		for _, p := range due {
			slots <- struct{}{}
			running.Go(s.Tasks.Func("planned sync", func() {
				defer func() { <-slots; s.schedule.finished(p.serverID) }()
				s.syncPlanned(ctx, p)
			}))
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
