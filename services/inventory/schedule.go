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

// Timing and concurrency of syncs.
const (
	SyncTimeout  = 20 * time.Second // of one sync
	SyncInterval = 15 * time.Minute // between the syncs of a healthy server, ± jitter
	syncJitter   = 0.1              // share of the interval
	syncRetry    = 15 * time.Second // after the first failure; doubles up to the interval
	syncParallel = 8
	maxTurnWait  = 25 * time.Second // waiting for another replica that syncs the same server
	storeTimeout = 30 * time.Second

	offersTimeout = 10 * time.Second       // of the lists other than tools
	announceDelay = 100 * time.Millisecond // after an announced change, to include further ones
	soonSpacing   = time.Second            // between announced syncs; doubles while they find no change
	soonMaxFactor = 6                      // maximum number of doublings
	initialDelay  = 10 * time.Second       // after a stream was opened, to find changes before it
)

// schedule stores the time of the next sync of each server. It has no timers:
// the runner calls take for the due servers and the delay until the next one.
type schedule struct {
	mu      sync.Mutex
	now     func() time.Time
	entries map[string]*scheduled
	wake    chan struct{}
}

type scheduled struct {
	next     time.Time
	since    time.Time // when next was planned
	version  int64     // configuration version of the latest or running sync
	failures int
	running  bool
	synced   time.Time // time of the last recorded success, or zero
	// validates reports whether the server's project validates arguments.
	validates bool

	soon       time.Time      // time of the sync for an announcement, or zero
	announced  time.Time      // start of the latest sync for an announcement
	emptySyncs int            // number of consecutive ones without a change
	watched    *models.Server // configuration to watch; nil before it was synced
}

func newSchedule(now func() time.Time) *schedule {
	return &schedule{now: now, entries: map[string]*scheduled{}, wake: make(chan struct{}, 1)}
}

// want schedules an immediate sync of a server whose configuration is new.
func (s *schedule) want(serverID string, version int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.entries[serverID]; e != nil && e.version == version {
		return
	}
	now := s.now()
	s.entries[serverID] = &scheduled{next: now, since: now, version: version}
	s.signal()
}

// keep removes every server that is not in want, and returns the removed ones.
func (s *schedule) keep(want map[string]bool) (forgotten []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range s.entries {
		if !want[id] {
			delete(s.entries, id)
			forgotten = append(forgotten, id)
			s.signal() // ends its watch
		}
	}
	return forgotten
}

func (s *schedule) forget(serverID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.entries[serverID] != nil {
		delete(s.entries, serverID)
		s.signal()
	}
}

// due schedules an immediate sync of a server.
func (s *schedule) due(serverID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.entries[serverID]; e != nil {
		e.next = s.now()
		e.since = e.next
		s.signal()
	}
}

// retry schedules an immediate sync of a server whose last one failed.
func (s *schedule) retry(serverID string) {
	s.mu.Lock()
	failed := s.entries[serverID] != nil && s.entries[serverID].failures > 0
	s.mu.Unlock()
	if failed {
		s.due(serverID)
	}
}

// done schedules the next sync of a server after one of the given
// configuration.
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

// synced records the time of a successful sync.
func (s *schedule) synced(serverID string, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.entries[serverID]; e != nil && at.After(e.synced) {
		e.synced = at
	}
}

// syncedAt returns the time of the last recorded success of a server, or zero.
func (s *schedule) syncedAt(serverID string) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.entries[serverID]; e != nil {
		return e.synced
	}
	return time.Time{}
}

// nextAt returns the time of the next sync of a server, or zero.
func (s *schedule) nextAt(serverID string) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.entries[serverID]; e != nil {
		return e.next
	}
	return time.Time{}
}

// isDue reports whether a server is due and was not synced since.
func (s *schedule) isDue(serverID string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.entries[serverID]
	return e != nil && !e.next.After(s.now())
}

// plannedAt returns the time at which the next sync of a server was scheduled,
// which is the end of the previous one.
func (s *schedule) plannedAt(serverID string) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.entries[serverID]; e != nil {
		return e.since
	}
	return time.Time{}
}

// failed schedules a retry for a server whose configuration could not be read.
func (s *schedule) failed(serverID string) { s.left(serverID, false) }

// left schedules the next sync of a server whose lists are not read now.
func (s *schedule) left(serverID string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.entries[serverID]; e != nil {
		e.plan(s.now(), ok)
	}
}

// plan sets the time of the next sync after one that ended now.
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
	announced bool // the server announced a change
}

// take returns the due servers, at most max, and marks them as running. wait is
// the delay until the next one.
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
		case len(due) < max: // the others start when a sync ends
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

// announce schedules a sync soon, because the server announced a change. At
// most one such sync is pending. A running sync does not count, because it may
// have read the list before the change. announce returns the time until the sync, or
// 0 for an unknown server.
func (s *schedule) announce(serverID string, delay time.Duration) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.entries[serverID]
	if e == nil {
		return 0
	}
	at := s.now().Add(delay)
	if earliest := e.announced.Add(soonSpacing << min(e.emptySyncs, soonMaxFactor)); at.Before(earliest) {
		at = earliest
	}
	if e.soon.IsZero() || at.Before(e.soon) {
		e.soon = at
		s.signal()
	}
	return e.soon.Sub(s.now())
}

// recordSync records whether a sync found a change. It increases the delay for
// servers that announce changes without making any.
func (s *schedule) recordSync(serverID string, changed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch e := s.entries[serverID]; {
	case e == nil:
	case changed:
		e.emptySyncs = 0
	case !e.announced.IsZero():
		e.emptySyncs++
	}
}

// watch marks a server to be watched, because it was synced.
func (s *schedule) watch(server models.Server) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.entries[server.ID]; e != nil && e.version == server.ConfigVersion {
		e.watched = &server
		s.signal()
	}
}

// watched returns the servers to watch, by ID.
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
	s.signal()
}

func (s *schedule) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Changed schedules syncs after a change of a toolset topic. New servers and
// new configurations are due immediately; disabled and deleted servers are
// removed. Changes made by syncs are ignored, and so are other topics.
func (s *Syncer) Changed(ctx context.Context, topic notify.Topic) error {
	projectID, ok := topic.ToolsetOf()
	if !ok {
		return nil
	}
	return s.configurations.Act(ctx, s.DB, projectID, s.Plan)
}

// Plan reads the enabled and declared servers and schedules a sync for each configuration
// that this process has not synced, and for servers whose project turned the
// validation of arguments on or off. It closes the sessions of disabled,
// undeclared and deleted servers.
func (s *Syncer) Plan(ctx context.Context) error {
	var rows []struct {
		ID                string
		ConfigVersion     int64
		ValidateArguments bool
	}
	err := s.DB.WithContext(ctx).Model(&models.Server{}).Joins("JOIN projects ON projects.id = servers.project_id").
		Select("servers.id", "servers.config_version", "projects.validate_arguments").Where("servers.enabled = ? AND servers.undeclared = ?", true, false).Scan(&rows).Error
	if err != nil {
		return fault.Internal(err)
	}
	want := make(map[string]bool, len(rows))
	for _, row := range rows {
		want[row.ID] = true
		s.schedule.want(row.ID, row.ConfigVersion)
		s.schedule.validates(row.ID, row.ValidateArguments)
	}
	for _, id := range s.schedule.keep(want) {
		s.Pool.Drop(id)
		s.first.forget(id)
	}
	return nil
}

// Run syncs every scheduled server when it is due, a few at a time, and watches
// the synced servers for notifications, until ctx is cancelled. Then it cancels
// the running syncs and waits for them. It must be called once.
func (s *Syncer) Run(ctx context.Context) {
	defer s.finish()
	s.Tasks.Loop(ctx, "sync loop", s.runPlanned)()
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
		watches.follow(ctx, s.runningOf(s.schedule.watched()))
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
