package inventory

import (
	"context"
	"sync"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/runners/wire"
	"mcpgateway/services/toolset"
)

// FirstReadTime is the maximum time for which lists wait for the first read of a
// server, from the first list that does.
const FirstReadTime = 20 * time.Second

// firstReads are the first reads of servers in this process.
type firstReads struct {
	mu  sync.Mutex
	all map[string]*firstRead // by server ID
}

// firstRead is the first read of a server.
type firstRead struct {
	until time.Time     // end of the waiting; zero before the first list
	ended chan struct{} // closed after a success or a failure
}

// find returns the first read of a server. The caller must hold mu.
func (f *firstReads) find(serverID string) *firstRead {
	if f.all[serverID] == nil {
		if f.all == nil {
			f.all = map[string]*firstRead{}
		}
		f.all[serverID] = &firstRead{ended: make(chan struct{})}
	}
	return f.all[serverID]
}

// await returns the first read of a server if a list must wait for it.
func (f *firstReads) await(serverID string, now time.Time) (read *firstRead, waits bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	read = f.find(serverID)
	if read.until.IsZero() {
		read.until = now.Add(FirstReadTime)
	}
	select {
	case <-read.ended:
		return nil, false
	default:
		return read, now.Before(read.until)
	}
}

// end records that a server was read, or can't be.
func (f *firstReads) end(serverID string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	read := f.find(serverID)
	select {
	case <-read.ended:
	default:
		close(read.ended)
	}
}

func (f *firstReads) forget(serverID string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.all, serverID)
}

// AwaitFirstReads waits until the servers of a project that come from files have been
// read once, so that a list at the start of the process is complete. It waits for
// each server at most FirstReadTime after the first list, and only if it was never
// read and is about to be. It reports whether it waited: the project can have a newer
// snapshot then. It returns early when ctx ends.
func (s *Syncer) AwaitFirstReads(ctx context.Context, project *toolset.Snapshot) (waited bool) {
	var reads []*firstRead
	now := time.Now()
	for _, server := range project.Servers {
		if s.isFirstRead(server) {
			if read, waits := s.first.await(server.Config.ID, now); waits {
				reads = append(reads, read)
			}
		}
	}
	for _, read := range reads {
		late := time.NewTimer(time.Until(read.until))
		select {
		case <-read.ended:
		case <-late.C:
		case <-ctx.Done():
		case <-s.life.Done():
		}
		late.Stop()
	}
	return len(reads) > 0
}

// isFirstRead reports whether a server was never read and its sync is due or in
// progress.
func (s *Syncer) isFirstRead(server *toolset.Server) bool {
	row := &server.Config
	switch {
	case server.Inventory != nil && server.Inventory.SyncedAt != nil, !row.Enabled, row.Undeclared:
		return false
	case !row.IsProgram():
		return row.Source == models.SourceLocal
	case s.Programs == nil:
		return false
	}
	_, state, known := s.Programs.State(row.ID)
	if !known {
		return s.Programs.IsExpected(*row)
	}
	return state == wire.StateStopped || state == wire.StateStarting || state == wire.StateRunning
}
