// Package rows stores which servers the files of live runners declare: the
// heartbeat of each replica, its declarations, and the servers of connectors.
package rows

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/activity"
	"mcpgateway/services/fault"
	"mcpgateway/services/notify"
	"mcpgateway/services/runners"
)

// Times of replicas.
const (
	BeatInterval  = 10 * time.Second // between the heartbeats of a replica
	Lifetime      = 30 * time.Second // since its last heartbeat, while it counts as live
	SweepInterval = 10 * time.Second
)

// Auditor records changes in the writer's transaction.
type Auditor interface {
	RecordAll(tx *gorm.DB, entries []activity.Entry) error
}

// Publisher publishes committed changes to this process and to others.
type Publisher interface {
	Publish(ctx context.Context, topics ...notify.Topic) error
}

// Options configure a Store.
type Options struct {
	DB    *gorm.DB
	Audit Auditor
	Feed  Publisher
	Now   func() time.Time
	Log   *slog.Logger
	// Refused is called with each list of a connector. It receives the entries
	// that got no server, with the reasons. It may be nil.
	Refused func(connectorID string, refused map[string]string)
}

// Store stores the declarations of this process. It is safe for concurrent use.
type Store struct {
	options Options
	replica string
	started time.Time

	mu       sync.Mutex                  // guards the fields below
	declared map[scope]map[string]string // hash by server ID
	listed   map[runners.Peer]outcome    // to the latest list
	changes  int64                       // of servers, as noted by this process

	elsewhere atomic.Pointer[map[string]bool] // servers that other live replicas declare, by ID
}

// scope is a group of declarations that are replaced together.
type scope struct {
	source      models.ServerSource
	connectorID string
	urls        bool // the servers with a URL
}

// New returns a Store with a new replica ID. Nothing is written yet.
func New(o Options) *Store {
	s := &Store{
		options: o, replica: uuid.Must(uuid.NewV7()).String(), started: o.Now(), declared: map[scope]map[string]string{}, listed: map[runners.Peer]outcome{},
	}
	s.elsewhere.Store(&map[string]bool{})
	return s
}

// Replica returns the ID of this process, which is new at each start.
func (s *Store) Replica() string { return s.replica }

// Live returns the sorted IDs of the live replicas, always with this process.
func (s *Store) Live(ctx context.Context) ([]string, error) {
	var ids []string
	err := s.options.DB.WithContext(ctx).Model(&models.Replica{}).Where("seen_at > ? OR id = ?", s.deadline(), s.replica).Order("id").Pluck("id", &ids).Error
	if err != nil {
		return nil, fault.Internal(err)
	}
	return ids, nil
}

// deadline returns the time after which live replicas were seen.
func (s *Store) deadline() time.Time { return s.options.Now().Add(-Lifetime) }

// Changed notes that servers changed, so that the next equal list is compared
// with the database again. It ignores topics other than those of tools.
func (s *Store) Changed(_ context.Context, topic notify.Topic) error {
	if _, ok := topic.ToolsetOf(); ok {
		s.mu.Lock()
		s.changes++
		s.mu.Unlock()
	}
	return nil
}

// Elsewhere reports whether another live replica declared a server at the latest
// heartbeat. It doesn't block.
func (s *Store) Elsewhere(serverID string) bool { return (*s.elsewhere.Load())[serverID] }

// keep stores the declarations of a scope in memory. With none it forgets the
// scope.
func (s *Store) keep(of scope, hashes map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(hashes) == 0 {
		delete(s.declared, of)
		return
	}
	s.declared[of] = maps.Clone(hashes)
}
