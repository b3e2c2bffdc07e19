package inventory

import (
	"context"
	"sync"
	"time"

	"mcpgateway/services/fault"
	"mcpgateway/services/toolset"
	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/pool"
)

// Timing and concurrency of the checks of attended projects.
const (
	checkInterval  = 1500 * time.Millisecond
	checkSpacing   = 20 * time.Millisecond // per server; a longer interval with many servers
	checkTimeout   = 3 * time.Second
	attendTime     = 10 * time.Second // after the latest call of Attend
	maxAttendTime  = 24 * time.Hour   // of one checker; the next call of Attend starts another
	checksParallel = 32               // of all projects
)

// attended are the projects with a running checker.
type attended struct {
	mu       sync.Mutex
	projects map[string]*checker // by project ID
	slots    chan struct{}
}

// checker checks the servers of one project.
type checker struct {
	project *toolset.Snapshot // guarded by attended.mu
	until   time.Time         // guarded by attended.mu

	mu      sync.Mutex
	seen    map[string]pool.Reach // the latest known result, by server ID
	synced  map[string]time.Time  // the latest sync for a result, by server ID
	running map[string]bool       // servers with a check in progress
}

// Attend checks the reachability of a project's enabled servers every 1.5 s, or
// less often if there are many, until 10 s after the last call. Open pages call it, so that they show an outage
// and its end within seconds and not after the next scheduled sync. A server
// whose reachability contradicts its state is synced immediately. Programs are
// left out: their runner reports their states.
// Only syncs and calls change states. All pages of a project share its checker.
func (s *Syncer) Attend(p *toolset.Snapshot) {
	a := &s.attended
	a.mu.Lock()
	defer a.mu.Unlock()
	until := time.Now().Add(attendTime)
	if c := a.projects[p.Project.ID]; c != nil {
		c.project, c.until = p, until
		return
	}
	ctx, done, ok := s.begin(context.Background(), maxAttendTime)
	if !ok {
		return
	}
	c := &checker{project: p, until: until, seen: map[string]pool.Reach{}, synced: map[string]time.Time{}, running: map[string]bool{}}
	a.projects[p.Project.ID] = c
	s.Tasks.Go("server checks", func() {
		defer done()
		defer a.remove(p.Project.ID)
		s.runChecks(ctx, c)
	})
}

func (a *attended) remove(projectID string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.projects, projectID)
}

// round returns the servers to check and the time until the next round. The time
// is 0 if the project is no longer attended.
func (a *attended) round(c *checker) ([]*toolset.Server, time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !time.Now().Before(c.until) {
		return nil, 0
	}
	all := 0
	for _, other := range a.projects {
		all += len(other.project.Servers)
	}
	return c.project.Servers, max(checkInterval, time.Duration(all)*checkSpacing)
}

// runChecks checks the servers of a project until it is no longer attended.
func (s *Syncer) runChecks(ctx context.Context, c *checker) {
	var checks sync.WaitGroup
	defer checks.Wait()
	for ctx.Err() == nil {
		servers, wait := s.attended.round(c)
		if wait == 0 {
			return
		}
		for _, server := range servers {
			if server.Config.Enabled && !server.Config.IsProgram() && c.begin(server.Config.ID) {
				checks.Go(s.Tasks.Func("server check", func() {
					defer c.end(server.Config.ID)
					s.check(ctx, c, server)
				}))
			}
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
	}
}

// check syncs a server if its reachability contradicts its state.
func (s *Syncer) check(ctx context.Context, c *checker, server *toolset.Server) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	select {
	case s.attended.slots <- struct{}{}:
		defer func() { <-s.attended.slots }()
	case <-ctx.Done():
		return
	}
	reach := s.Pool.Reach(ctx, server.Target)
	if reach != pool.ReachUnknown && c.needsSync(server.Config.ID, reach, s.Pool.Health(server.Config.ID), time.Now()) {
		s.schedule.due(server.Config.ID)
	}
}

// begin reports whether a check of a server may start.
func (c *checker) begin(serverID string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running[serverID] {
		return false
	}
	c.running[serverID] = true
	return true
}

func (c *checker) end(serverID string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.running, serverID)
}

// needsSync stores a result and reports whether the server must be synced,
// because the result is new and contradicts its health. A server that responds
// although its last request failed to reach it is synced again after 15 s.
func (c *checker) needsSync(serverID string, reach pool.Reach, health upstream.Health, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	changed := c.seen[serverID] != reach
	c.seen[serverID] = reach
	failing := health.ConsecutiveFailures > 0
	if !failing && !health.OK() || failing == (reach == pool.Unreachable) {
		return false
	}
	lost := failing && (health.LastCode == fault.CodeUpstreamUnavailable || health.LastCode == fault.CodeUpstreamTimeout)
	if !changed && !(lost && now.Sub(c.synced[serverID]) >= syncRetry) {
		return false
	}
	c.synced[serverID] = now
	return true
}
