package codemode

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/sandbox"
)

// Traces keeps the last runs of every project. Runs do not wait for it: they
// leave their trace in a queue that Run stores.
type Traces struct {
	db    *gorm.DB
	queue chan models.CodeRun
	log   *slog.Logger
}

// NewTraces returns the traces of the database. Without Run nothing is
// stored.
func NewTraces(db *gorm.DB, log *slog.Logger) *Traces {
	return &Traces{db: db, queue: make(chan models.CodeRun, traceQueue), log: log}
}

// Run stores finished runs until the context ends, and then what is left.
func (t *Traces) Run(ctx context.Context) {
	for {
		select {
		case row := <-t.queue:
			t.store(ctx, row)
		case <-ctx.Done():
			for {
				select {
				case row := <-t.queue:
					t.store(ctx, row)
				default:
					return
				}
			}
		}
	}
}

// store stores a row, also when the context has just ended, and reports
// whether it did.
func (t *Traces) store(ctx context.Context, row models.CodeRun) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	err := t.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		if err := tx.Create(&row).Error; err != nil {
			return err
		}
		kept := tx.Model(&models.CodeRun{}).Select("id").Where("project_id = ?", row.ProjectID).Order("id DESC").Limit(MaxTraces)
		return tx.Where("project_id = ? AND id NOT IN (?)", row.ProjectID, kept).Delete(&models.CodeRun{}).Error
	})
	if err != nil {
		// The project may have been deleted while its code ran.
		t.log.Warn("the trace of a run of code was not stored", "project", row.ProjectID, "error", err)
	}
	return err == nil
}

// keep queues the trace of a finished run; when the queue is full it is lost.
func (t *Traces) keep(q *Request, begin time.Time, out Outcome) {
	select {
	case t.queue <- traceOf(q, begin, out):
	default:
		t.log.Warn("too many runs of code at once: a trace was lost", "project", q.ProjectID)
	}
}

// keepNow stores the trace of a finished run and returns its id, or nothing
// when it could not be stored.
func (t *Traces) keepNow(ctx context.Context, q *Request, begin time.Time, out Outcome) string {
	row := traceOf(q, begin, out)
	if !t.store(ctx, row) {
		return ""
	}
	return row.ID
}

// NewTraceID returns an id for a run that begins: later runs have greater ones.
func NewTraceID() string { return uuid.Must(uuid.NewV7()).String() }

// traceOf returns the trace of a finished run.
func traceOf(q *Request, begin time.Time, out Outcome) models.CodeRun {
	id := q.TraceID
	if id == "" {
		id = NewTraceID()
	}
	row := models.CodeRun{
		ID: id, ProjectID: q.ProjectID, At: begin.UTC().Truncate(time.Millisecond), Principal: sandbox.ClipText(q.Principal, 200),
		Code: storable(q.Code), Input: storable(string(q.Input)), Outcome: traceOutcome(out), OK: out.OK, Calls: int64(len(out.Calls)), DurationMS: out.Usage.MS,
		TimeoutMS: q.Timeout.Milliseconds(), DryRun: q.DryRun, SeedAt: q.Seed.Time.UTC().Truncate(time.Millisecond), SeedRandom: int64(q.Seed.Random),
	}
	if len(q.Input) > MaxTraceField {
		row.Input, row.InputCut = "", true
	}
	if out.Error != nil {
		row.Phase = string(out.Error.Phase)
	}
	return row
}

// traceOutcome returns the outcome as JSON of at most MaxTraceField bytes. The
// receipts of the calls are worth more than the result.
func traceOutcome(out Outcome) string {
	for _, room := range []int{sandbox.MaxResult, MaxTraceField / 4, 1024, 0} {
		if len(out.Result) > room {
			out.Result = sandbox.CutJSON(out.Result, max(room, 64))
		}
		if room == 1024 && len(out.Logs) > 20 {
			out.Logs = out.Logs[:20]
		}
		if room == 0 {
			out.Logs, out.Plan = []LogLine{}, nil
		}
		if raw, err := sandbox.Encode(out); err == nil && len(raw) <= MaxTraceField {
			return storable(string(raw))
		}
	}
	return "{}"
}

// List returns the newest traces of a project that began before the one with
// the id, at most limit of them and without code, input and outcome. An empty
// before begins at the newest.
func (t *Traces) List(ctx context.Context, projectID, before string, limit int) ([]models.CodeRun, error) {
	query := t.db.WithContext(ctx).Omit("code", "input", "outcome").Where("project_id = ?", projectID)
	if before != "" {
		query = query.Where("id < ?", before)
	}
	var rows []models.CodeRun
	if err := query.Order("id DESC").Limit(max(1, min(limit, MaxTraces))).Find(&rows).Error; err != nil {
		return nil, fault.Internal(err)
	}
	return rows, nil
}

// Get returns one trace of a project, or NOT_FOUND.
func (t *Traces) Get(ctx context.Context, projectID, id string) (models.CodeRun, error) {
	var row models.CodeRun
	err := t.db.WithContext(ctx).First(&row, "id = ? AND project_id = ?", id, projectID).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return row, fault.NotFound("run", id)
	}
	if err != nil {
		return row, fault.Internal(err)
	}
	return row, nil
}

// Replay returns the request that runs a trace again: the same code, input,
// time-out, clock and random numbers. What the tools answer may differ. The
// caller fills in who runs it, with which tools. It returns CONFLICT for a
// trace whose input was too long to be kept.
func Replay(row models.CodeRun) (Request, error) {
	if row.InputCut {
		return Request{}, fault.Conflict("the input of this run was too long to be kept, so it cannot be run again")
	}
	q := Request{
		ProjectID: row.ProjectID, Code: row.Code, Timeout: time.Duration(row.TimeoutMS) * time.Millisecond, DryRun: row.DryRun,
		Seed: &Seed{Time: row.SeedAt, Random: uint64(row.SeedRandom)},
	}
	if row.Input != "" {
		q.Input = json.RawMessage(row.Input)
	}
	return q, nil
}

// storable returns a text that both databases can hold: PostgreSQL takes no
// NUL and no invalid UTF-8.
func storable(s string) string {
	return strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", "\ufffd"), "\ufffd")
}
