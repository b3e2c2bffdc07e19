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

// Traces stores the latest runs of every project. Runs don't wait for storage:
// their traces go through a queue that Run drains.
type Traces struct {
	db    *gorm.DB
	queue chan models.CodeRun
	log   *slog.Logger
}

// NewTraces returns the traces in db. Run must be running for them to be
// stored.
func NewTraces(db *gorm.DB, log *slog.Logger) *Traces {
	return &Traces{db: db, queue: make(chan models.CodeRun, traceQueue), log: log}
}

// Run stores finished runs until the context ends, then drains the queue.
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

// store stores a row, even if the context has just ended, and reports whether
// it succeeded.
func (t *Traces) store(ctx context.Context, row models.CodeRun) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	err := t.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		if err := tx.Create(&row).Error; err != nil {
			return err
		}
		var project models.Project
		if err := tx.Select("id", "retention_runs").First(&project, "id = ?", row.ProjectID).Error; err != nil {
			return err
		}
		return trim(tx, project)
	})
	if err != nil {
		// The project may have been deleted while its code ran.
		t.log.Warn("run trace not stored", "project", row.ProjectID, "error", err)
	}
	return err == nil
}

// trim deletes the oldest runs of a project beyond its retention.
func trim(tx *gorm.DB, project models.Project) error {
	for {
		oldest := tx.Model(&models.CodeRun{}).Select("id").Where("project_id = ?", project.ID).Order("id DESC").Offset(project.RetentionRuns).Limit(runsPerDeletion)
		done := tx.Where("project_id = ? AND id IN (?)", project.ID, oldest).Delete(&models.CodeRun{})
		if done.Error != nil || done.RowsAffected < runsPerDeletion {
			return done.Error
		}
	}
}

// Sweep deletes the oldest runs of every project beyond its retention, which may
// have become lower. It returns a database error as an INTERNAL fault.
func (t *Traces) Sweep(ctx context.Context) error {
	var projects []models.Project
	db := t.db.WithContext(ctx)
	if err := db.Select("id", "retention_runs").Find(&projects).Error; err != nil {
		return fault.Internal(err)
	}
	for _, project := range projects {
		if err := trim(db, project); err != nil {
			return fault.Internal(err)
		}
	}
	return nil
}

// keep queues the trace of a finished run. If the queue is full, the trace is
// dropped.
func (t *Traces) keep(q *Request, begin time.Time, out Outcome) {
	select {
	case t.queue <- traceOf(q, begin, out):
	default:
		t.log.Warn("run trace dropped, queue full", "project", q.ProjectID)
	}
}

// keepNow stores the trace of a finished run and returns its id, or "" if it
// could not be stored.
func (t *Traces) keepNow(ctx context.Context, q *Request, begin time.Time, out Outcome) string {
	row := traceOf(q, begin, out)
	if !t.store(ctx, row) {
		return ""
	}
	return row.ID
}

// NewTraceID returns an id for a new run. Ids sort by time.
func NewTraceID() string { return uuid.Must(uuid.NewV7()).String() }

// traceOf returns the trace of a finished run.
func traceOf(q *Request, begin time.Time, out Outcome) models.CodeRun {
	id := q.TraceID
	if id == "" {
		id = NewTraceID()
	}
	row := models.CodeRun{
		ID: id, ProjectID: q.ProjectID, At: begin.UTC().Truncate(time.Millisecond), Principal: sandbox.ClipText(q.Principal, 200),
		Recipe: q.Recipe, Code: storable(q.Code), Input: storable(string(q.Input)), Outcome: traceOutcome(out), OK: out.OK, Calls: int64(len(out.Calls)), DurationMS: out.Usage.MS,
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

// traceOutcome returns the outcome as JSON of at most MaxTraceField bytes. It
// truncates the result first: the call records matter more.
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

// List returns the newest traces of a project before the trace with the given
// id, or the newest of all if before is empty. It returns at most limit traces,
// without code, input and outcome.
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

// Get returns one trace of a project, or a NOT_FOUND fault.
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

// Replay returns the request that repeats a run with the same code, input,
// timeout, clock and random numbers. Tools may respond differently. The caller
// sets the principal and the tools. Replay returns CONFLICT if the input was
// too long to be stored.
func Replay(row models.CodeRun) (Request, error) {
	if row.InputCut {
		return Request{}, fault.Conflict("The input of this run was too long to store. Run the code again with its input.")
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

// storable returns a text that both databases accept: PostgreSQL rejects NUL
// and invalid UTF-8.
func storable(s string) string {
	return strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", "\ufffd"), "\ufffd")
}
