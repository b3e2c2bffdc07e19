// Package history records when upstream servers were available, as observed by
// syncs and calls of any replica.
package history

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/upstream"
)

// Limits of the history.
const (
	// Retention is the maximum age of observations.
	Retention = 48 * time.Hour
	// Valid is the duration for which an observation holds. It exceeds two times repeatAfter
	// and the interval between syncs, so that a running gateway leaves no gap.
	Valid = 30 * time.Minute

	repeatAfter   = 10 * time.Minute // an unchanged state is stored again
	minSpacing    = 30 * time.Second // between stored changes of a server that keeps changing
	writeInterval = time.Second
	writeTimeout  = 5 * time.Second
	maxWaiting    = 10_000 // servers with an observation that is not stored yet
)

// Store is the history of all servers. Observations are queued; Run writes them.
type Store struct {
	db  *gorm.DB
	now func() time.Time
	log *slog.Logger

	report func(ctx context.Context, state models.ServerState) error // nil without one

	mu      sync.Mutex
	waiting map[string]models.ServerState // newest observation that is not stored, by server
	written map[string]models.ServerState // newest stored one of this process
}

// New returns the history in the database. Run must be called to write it.
func New(db *gorm.DB, now func() time.Time, log *slog.Logger) *Store {
	return &Store{db: db, now: now, log: log, waiting: map[string]models.ServerState{}, written: map[string]models.ServerState{}}
}

// Report calls do with each stored observation. It must be called before Run.
func (s *Store) Report(do func(ctx context.Context, state models.ServerState) error) { s.report = do }

// Note queues the outcome of a request to a server: nil, or its error. Other
// errors, such as a cancelled call, are ignored. Note
// never waits for the database.
func (s *Store) Note(serverID string, err error) {
	state := models.ServerState{ServerID: serverID, At: s.now(), State: models.ServerUp}
	if err != nil {
		var f *fault.Fault
		if !errors.As(err, &f) || f.Kind != fault.KindUpstream {
			return
		}
		reason := upstream.ReasonOf(f)
		state.State, state.Cause = models.ServerDown, string(reason)
		if kind, _ := reason.Split(); kind == upstream.ReasonNoToken || kind == upstream.ReasonNotConnected {
			state.State = models.ServerUnset
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	before, known := s.written[serverID]
	queued, isQueued := s.waiting[serverID]
	if isQueued && same(queued, state) || !isQueued && (known && same(before, state) && state.At.Sub(before.At) < repeatAfter || len(s.waiting) >= maxWaiting) {
		return
	}
	s.waiting[serverID] = state
}

// same reports whether two observations are of the same state.
func same(a, b models.ServerState) bool { return a.State == b.State && a.Cause == b.Cause }

// Run writes queued observations until ctx ends, and then the rest.
func (s *Store) Run(ctx context.Context) {
	tick := time.NewTicker(writeInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
			defer cancel()
			s.warn(last, s.Flush(last))
			return
		case <-tick.C:
			s.warn(ctx, s.Flush(ctx))
		}
	}
}

func (s *Store) warn(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		s.log.Warn("history of servers not written", "error", err)
	}
}

// Flush writes the queued observations, except those of servers that changed less
// than minSpacing ago. It returns a database error as an INTERNAL fault.
func (s *Store) Flush(ctx context.Context) error {
	for _, state := range s.take() {
		if err := s.write(ctx, state); err != nil {
			return fault.Internal(err)
		}
	}
	return nil
}

// take removes the observations that are due from the queue.
func (s *Store) take() []models.ServerState {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	var due []models.ServerState
	for id, state := range s.waiting {
		before, known := s.written[id]
		if known && now.Sub(before.At) < minSpacing {
			continue
		}
		delete(s.waiting, id)
		if known && same(before, state) && state.At.Sub(before.At) < repeatAfter {
			continue // it changed back
		}
		s.written[id] = state
		due = append(due, state)
	}
	return due
}

// write stores an observation unless the newest stored one is of the same state and
// recent. Replicas that observe the same write it once. A deleted server has none.
func (s *Store) write(ctx context.Context, state models.ServerState) error {
	db := s.db.WithContext(ctx)
	var latest []models.ServerState
	if err := db.Where("server_id = ?", state.ServerID).Order("at DESC").Limit(1).Find(&latest).Error; err != nil {
		return err
	}
	if len(latest) > 0 && same(latest[0], state) && state.At.Sub(latest[0].At) < repeatAfter {
		return nil
	}
	err := db.Exec(`INSERT INTO server_states (server_id, at, state, cause) SELECT id, ?, ?, ? FROM servers WHERE id = ? ON CONFLICT DO NOTHING`,
		state.At, state.State, state.Cause, state.ServerID).Error
	if err != nil || s.report == nil {
		return err
	}
	return s.report(ctx, state)
}

// Sweep deletes observations older than Retention. It returns a database error as an
// INTERNAL fault.
func (s *Store) Sweep(ctx context.Context) error {
	now := s.now()
	s.mu.Lock()
	for id, state := range s.written {
		if now.Sub(state.At) > Retention {
			delete(s.written, id)
		}
	}
	s.mu.Unlock()
	if err := s.db.WithContext(ctx).Delete(&models.ServerState{}, "at < ?", now.Add(-Retention)).Error; err != nil {
		return fault.Internal(err)
	}
	return nil
}

// Servers returns the observations of servers since a time, oldest first, by
// server. They include those before it that may still hold then.
func (s *Store) Servers(ctx context.Context, ids []string, since time.Time) (map[string][]models.ServerState, error) {
	var rows []models.ServerState
	if len(ids) > 0 {
		err := s.db.WithContext(ctx).Where("server_id IN ? AND at >= ?", ids, since.Add(-Valid)).Order("at").Find(&rows).Error
		if err != nil {
			return nil, fault.Internal(err)
		}
	}
	all := make(map[string][]models.ServerState, len(ids))
	for _, row := range rows {
		all[row.ServerID] = append(all[row.ServerID], row)
	}
	return all, nil
}
