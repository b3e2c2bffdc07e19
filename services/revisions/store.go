// Package revisions stores the protocol revisions that failed calls showed to be
// right at servers, for calls of clients that a server can send requests to.
package revisions

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"mcpgateway/models"
	"mcpgateway/services/background"
	"mcpgateway/services/fault"
	"mcpgateway/services/notify"
	"mcpgateway/services/upstream"
)

// storeTime is the timeout for storing a revision.
const storeTime = 10 * time.Second

// Publisher notifies all processes of committed changes. Implemented by
// notify.Feed.
type Publisher interface {
	Publish(ctx context.Context, topics ...notify.Topic) error
}

// Store holds the learned revisions of all servers in memory, because every call
// needs them. It is safe for concurrent use.
type Store struct {
	db    *gorm.DB
	feed  Publisher
	now   func() time.Time
	log   *slog.Logger
	tasks *background.Tasks

	current atomic.Pointer[map[string]models.LearnedRevision] // by server id
	change  sync.Mutex                                        // held while current is replaced
	storing sync.WaitGroup
}

// New returns an empty store. Load must be called before use. tasks may be nil.
func New(db *gorm.DB, feed Publisher, now func() time.Time, log *slog.Logger, tasks *background.Tasks) *Store {
	s := &Store{db: db, feed: feed, now: now, log: log, tasks: tasks}
	s.current.Store(&map[string]models.LearnedRevision{})
	return s
}

// Of returns the revision for a server, or "" if none was learned.
func (s *Store) Of(serverID string) string { return s.Find(serverID).Revision }

// Find returns what was learned about a server. The zero value means nothing.
func (s *Store) Find(serverID string) models.LearnedRevision { return (*s.current.Load())[serverID] }

// Learn uses a revision from the next call on and stores it for other processes,
// in the background. It stores nothing if the server was edited since.
func (s *Store) Learn(t *upstream.Target, revision, reason string) {
	row := models.LearnedRevision{ServerID: t.ServerID, Revision: revision, Reason: reason, Since: s.now()}
	s.change.Lock()
	if s.Of(t.ServerID) == revision {
		s.change.Unlock()
		return
	}
	next := maps.Clone(*s.current.Load())
	next[row.ServerID] = row
	s.current.Store(&next)
	s.change.Unlock()
	s.log.Info("protocol revision learned", "server", t.Alias, "server_id", t.ServerID, "revision", revision, "reason", reason)
	s.storing.Go(s.tasks.Func("learned revision", func() {
		ctx, cancel := context.WithTimeout(context.Background(), storeTime)
		defer cancel()
		if err := s.save(ctx, row, t.Version); err != nil {
			s.log.Warn("learned revision not stored", "server_id", t.ServerID, "error", err)
		}
	}))
}

// Wait waits until everything learned is stored.
func (s *Store) Wait() { s.storing.Wait() }

// errEdited means that the server was edited after the call that failed.
var errEdited = errors.New("server was edited")

func (s *Store) save(ctx context.Context, row models.LearnedRevision, version int64) error {
	err := s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		var server models.Server
		if err := tx.Clauses(models.LockRow(tx)...).First(&server, "id = ?", row.ServerID).Error; err != nil {
			return err
		}
		if server.ConfigVersion != version {
			return errEdited
		}
		if err := tx.Clauses(clause.OnConflict{UpdateAll: true}).Create(&row).Error; err != nil {
			return err
		}
		return notify.Touch(tx, notify.LearnedRevisions())
	})
	if errors.Is(err, errEdited) || errors.Is(err, gorm.ErrRecordNotFound) {
		return s.Load(ctx)
	}
	if err != nil {
		return err
	}
	return s.feed.Publish(ctx, notify.LearnedRevisions())
}

// Load reads all learned revisions. It returns a database error as an INTERNAL
// fault.
func (s *Store) Load(ctx context.Context) error {
	s.change.Lock()
	defer s.change.Unlock()
	var rows []models.LearnedRevision
	if err := s.db.WithContext(ctx).Find(&rows).Error; err != nil {
		return fault.Internal(err)
	}
	next := make(map[string]models.LearnedRevision, len(rows))
	for _, row := range rows {
		next[row.ServerID] = row
	}
	s.current.Store(&next)
	return nil
}

// Changed reads the learned revisions if topic is theirs, and ignores other
// topics. It returns a database error as an INTERNAL fault.
func (s *Store) Changed(ctx context.Context, topic notify.Topic) error {
	if !topic.IsLearnedRevisions() {
		return nil
	}
	return s.Load(ctx)
}

// Clear deletes what was learned about a server, in the transaction of an edit.
// It returns the topic to publish, or "" if nothing was learned.
func Clear(tx *gorm.DB, serverID string) (notify.Topic, error) {
	deleted := tx.Delete(&models.LearnedRevision{}, "server_id = ?", serverID)
	if deleted.Error != nil || deleted.RowsAffected == 0 {
		return "", deleted.Error
	}
	return notify.LearnedRevisions(), nil
}
