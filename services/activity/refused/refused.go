// Package refused keeps the newest requests to each project's endpoints that the
// gateway refused, so that it can be said why a client doesn't connect. No part of
// a record contains credentials.
package refused

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/redact"
)

// Limits of refused requests.
const (
	// Kept is the number of requests of a project that are kept.
	Kept = 50
	// Retention is the maximum age of a request.
	Retention = 7 * 24 * time.Hour

	// maxWaiting is the maximum number of requests of all projects that wait to be
	// written. Beyond it, a project's own oldest one is replaced.
	maxWaiting = 1_000

	writeInterval = 3 * time.Second
	finalTimeout  = 5 * time.Second
	rowsPerWrite  = 200 // of one statement

	maxClient   = 120 // characters
	maxReason   = 300
	maxEndpoint = 100
	maxShort    = 64 // of an address, a code, a method and a request id

	bytesPerCharacter = 2 // that are read; the search for secrets takes time for each
)

// Log stores refused requests. Record takes one short lock of the project; Run
// writes them. It is safe for concurrent use.
type Log struct {
	db  *gorm.DB
	now func() time.Time
	log *slog.Logger

	projects sync.Map // project ID to *ring
	waiting  atomic.Int64
	writing  sync.Mutex // held while waiting requests are written or listed
}

// ring has the newest requests of a project that are not yet written.
type ring struct {
	mu   sync.Mutex
	next int // index of the oldest once there are Kept
	rows []models.RefusedRequest
}

// New returns the Log of the database. Run must be called to write it.
func New(db *gorm.DB, now func() time.Time, log *slog.Logger) *Log {
	return &Log{db: db, now: now, log: log}
}

// Record stores a refused request of an existing project. It never waits for the
// database. It sets ID and At, and copies the texts.
func (l *Log) Record(row models.RefusedRequest) {
	row.ID, row.At = uuid.Must(uuid.NewV7()).String(), l.now()
	each(&row, func(s string, limit int) string { return strings.Clone(s[:min(len(s), bytesPerCharacter*limit)]) })
	held, ok := l.projects.Load(row.ProjectID)
	if !ok {
		held, _ = l.projects.LoadOrStore(row.ProjectID, &ring{})
	}
	held.(*ring).add(row, &l.waiting)
}

// add adds a request. It replaces the oldest one of a full ring, or of any ring if
// too many requests of all projects wait.
func (r *ring) add(row models.RefusedRequest, waiting *atomic.Int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.rows) < Kept && waiting.Add(1) <= maxWaiting {
		r.rows = append(r.rows, row)
		return
	}
	if len(r.rows) < Kept {
		waiting.Add(-1)
	}
	if len(r.rows) > 0 {
		r.next %= len(r.rows)
		r.rows[r.next] = row
		r.next++
	}
}

// take removes and returns the requests.
func (r *ring) take(waiting *atomic.Int64) []models.RefusedRequest {
	r.mu.Lock()
	rows := r.rows
	r.rows, r.next = nil, 0
	r.mu.Unlock()
	waiting.Add(-int64(len(rows)))
	return cleaned(rows)
}

// list returns the requests.
func (r *ring) list() []models.RefusedRequest {
	r.mu.Lock()
	rows := slices.Clone(r.rows)
	r.mu.Unlock()
	return cleaned(rows)
}

// cleaned returns the requests after it has replaced their texts with storable ones.
func cleaned(rows []models.RefusedRequest) []models.RefusedRequest {
	for i := range rows {
		each(&rows[i], storable)
	}
	return rows
}

// each replaces the texts of a request, which have a limit in characters.
func each(row *models.RefusedRequest, f func(text string, limit int) string) {
	row.Client, row.Reason, row.Endpoint = f(row.Client, maxClient), f(row.Reason, maxReason), f(row.Endpoint, maxEndpoint)
	for _, short := range []*string{&row.Method, &row.Code, &row.Address, &row.RequestID} {
		*short = f(*short, maxShort)
	}
}

// storable returns a text of at most limit characters without control characters
// and without anything that looks like a secret. It runs when rows are written and
// not for each request, because a flood of requests replaces most of them.
func storable(s string, limit int) string {
	s = strings.Map(func(r rune) rune {
		if r == unicode.ReplacementChar || unicode.IsControl(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
	s = redact.Text(s)
	if runes := []rune(s); len(runes) > limit {
		return string(runes[:limit-1]) + "…"
	}
	return s
}

// Run writes recorded requests every few seconds until ctx ends, and then the rest.
func (l *Log) Run(ctx context.Context) {
	tick := time.NewTicker(writeInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), finalTimeout)
			defer cancel()
			l.write(last)
			return
		case <-tick.C:
			l.write(ctx)
		}
	}
}

// write stores the waiting requests. After a failure they are dropped, because they
// are a help and not a record.
func (l *Log) write(ctx context.Context) {
	l.writing.Lock()
	defer l.writing.Unlock()
	if err := l.flush(ctx); err != nil && ctx.Err() == nil {
		l.log.Warn("refused requests not saved", "error", err)
	}
}

func (l *Log) flush(ctx context.Context) error {
	if l.waiting.Load() == 0 {
		return nil
	}
	var rows []models.RefusedRequest
	var projects []string
	l.projects.Range(func(id, held any) bool {
		if taken := held.(*ring).take(&l.waiting); len(taken) > 0 {
			rows, projects = append(rows, taken...), append(projects, id.(string))
		}
		return true
	})
	if len(rows) == 0 {
		return nil
	}
	return l.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		if err := tx.CreateInBatches(rows, rowsPerWrite).Error; err != nil {
			return err
		}
		return trim(tx, projects)
	})
}

// trim deletes all but the newest requests of the projects.
func trim(tx *gorm.DB, projects []string) error {
	for part := range slices.Chunk(projects, rowsPerWrite) {
		ranked := tx.Model(&models.RefusedRequest{}).Select("id, ROW_NUMBER() OVER (PARTITION BY project_id ORDER BY id DESC) AS place").Where("project_id IN ?", part)
		old := tx.Table("(?) AS ranked", ranked).Select("id").Where("place > ?", Kept)
		if err := tx.Where("id IN (?)", old).Delete(&models.RefusedRequest{}).Error; err != nil {
			return err
		}
	}
	return nil
}

// List returns the newest refused requests of a project, newest first, at most
// Kept. Those of other replicas appear after a few seconds. It returns a database
// error as a fault.
func (l *Log) List(ctx context.Context, projectID string) ([]models.RefusedRequest, error) {
	l.writing.Lock()
	defer l.writing.Unlock()
	var rows []models.RefusedRequest
	err := l.db.WithContext(ctx).Order("id DESC").Limit(Kept).Find(&rows, "project_id = ?", projectID).Error
	if err != nil {
		return nil, fault.Internal(err)
	}
	if held, ok := l.projects.Load(projectID); ok {
		rows = append(rows, held.(*ring).list()...)
	}
	slices.SortFunc(rows, func(a, b models.RefusedRequest) int { return strings.Compare(b.ID, a.ID) })
	return rows[:min(len(rows), Kept)], nil
}

// Sweep deletes requests older than Retention. It returns a database error as a
// fault.
func (l *Log) Sweep(ctx context.Context) error {
	if err := l.db.WithContext(ctx).Where("at < ?", l.now().Add(-Retention)).Delete(&models.RefusedRequest{}).Error; err != nil {
		return fault.Internal(err)
	}
	return nil
}
