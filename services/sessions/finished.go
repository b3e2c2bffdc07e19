package sessions

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/notify"
	"mcpgateway/services/secrets"
)

// storeTime is the timeout for storing a result.
const storeTime = 5 * time.Second

// Finished stores the results of requests whose clients were not connected when
// they finished (MCP 2025-11-25, "Resumability and Redelivery"). Every process
// can deliver them. It is safe for concurrent use.
type Finished struct {
	db   *gorm.DB
	feed Publisher
	keys *secrets.KeyRing
	now  func() time.Time
	log  *slog.Logger

	mu       sync.Mutex
	watchers map[notify.Topic]map[chan struct{}]bool
}

// NewFinished returns the results in db, sealed with keys. Changes are published
// on feed.
func NewFinished(db *gorm.DB, feed Publisher, keys *secrets.KeyRing, now func() time.Time, log *slog.Logger) *Finished {
	return &Finished{db: db, feed: feed, keys: keys, now: now, log: log, watchers: map[notify.Topic]map[chan struct{}]bool{}}
}

// Store stores the JSON-RPC response of a request for FinishedLifetime. id
// identifies the request in its session. A response over MaxFinishedSize is
// replaced by an empty one. The first response of a request is stored. Beyond
// MaxFinished, the project's oldest response is deleted. A failure is logged,
// because the client is not connected. The context's end is ignored.
func (f *Finished) Store(ctx context.Context, projectID, session, id string, response []byte) {
	if len(response) > MaxFinishedSize {
		response = nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTime)
	defer cancel()
	if err := f.store(ctx, projectID, session, id, response); err != nil {
		f.log.Warn("finished result not stored", "project", projectID, "error", err)
	}
}

func (f *Finished) store(ctx context.Context, projectID, session, id string, response []byte) error {
	sealed, err := f.keys.Seal(secrets.NewValue(string(response)), finishedRow(id))
	if err != nil {
		return err
	}
	now, topic := f.now(), notify.FinishedResults(session)
	row := models.FinishedResult{ID: id, Session: session, ProjectID: projectID, Result: sealed, CreatedAt: now, ExpiresAt: now.Add(FinishedLifetime)}
	err = f.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		if err := tx.Where("project_id = ? AND created_at <= ?", projectID, now.Add(-FinishedLifetime)).Delete(&models.FinishedResult{}).Error; err != nil {
			return err
		}
		if err := tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&row).Error; err != nil {
			return err
		}
		var held int64
		if err := tx.Model(&models.FinishedResult{}).Where("project_id = ?", projectID).Count(&held).Error; err != nil {
			return err
		}
		if held > MaxFinished {
			oldest := tx.Model(&models.FinishedResult{}).Select("id").Where("project_id = ?", projectID).Order("created_at, id").Limit(int(held - MaxFinished))
			if err := tx.Where("id IN (?)", oldest).Delete(&models.FinishedResult{}).Error; err != nil {
				return err
			}
		}
		return notify.Touch(tx, topic)
	})
	if err != nil {
		return fault.From(err)
	}
	return f.feed.Publish(ctx, topic)
}

// Find returns the response stored for a request. found is false if there is
// none. The response is empty if it was too large or can't be decrypted any
// longer. It returns a database error as an INTERNAL fault.
func (f *Finished) Find(ctx context.Context, session, id string) (response []byte, found bool, err error) {
	var row models.FinishedResult
	err = f.db.WithContext(ctx).First(&row, "id = ? AND session = ? AND expires_at > ?", id, session, f.now()).Error
	switch {
	case errors.Is(err, gorm.ErrRecordNotFound):
		return nil, false, nil
	case err != nil:
		return nil, false, fault.Internal(err)
	}
	text, err := f.keys.Open(row.Result, finishedRow(id))
	if err != nil {
		f.log.Warn("finished result not readable", "project", row.ProjectID, "error", err)
		return nil, true, nil
	}
	return []byte(text.Reveal()), true, nil
}

// End deletes the responses of a session. It returns a database error as an
// INTERNAL fault.
func (f *Finished) End(ctx context.Context, session string) error {
	if err := f.db.WithContext(ctx).Where("session = ?", session).Delete(&models.FinishedResult{}).Error; err != nil {
		return fault.Internal(err)
	}
	return nil
}

// Sweep deletes expired responses. It returns a database error as an INTERNAL
// fault.
func (f *Finished) Sweep(ctx context.Context) error {
	if err := f.db.WithContext(ctx).Where("expires_at <= ?", f.now()).Delete(&models.FinishedResult{}).Error; err != nil {
		return fault.Internal(err)
	}
	return nil
}

// Watch returns a channel that receives a value after a response of the session
// may have been stored in any process. The caller must call stop.
func (f *Finished) Watch(session string) (changed <-chan struct{}, stop func()) {
	topic, c := notify.FinishedResults(session), make(chan struct{}, 1)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.watchers[topic] == nil {
		f.watchers[topic] = map[chan struct{}]bool{}
	}
	f.watchers[topic][c] = true
	return c, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if delete(f.watchers[topic], c); len(f.watchers[topic]) == 0 {
			delete(f.watchers, topic)
		}
	}
}

// Changed wakes the watchers of a topic, and ignores other topics. The error is
// always nil.
func (f *Finished) Changed(_ context.Context, topic notify.Topic) error {
	if !topic.IsFinishedResults() {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for c := range f.watchers[topic] {
		select {
		case c <- struct{}{}:
		default:
		}
	}
	return nil
}

// finishedRow returns the row that a sealed response is bound to.
func finishedRow(id string) string { return "finished_results/" + id + "/result" }
