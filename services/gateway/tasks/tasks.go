package tasks

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/background"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/upstream"
)

// Caller calls upstream servers.
type Caller interface {
	Call(ctx context.Context, target *upstream.Target, request *upstream.Request) (*upstream.Response, error)
}

// Rows store tasks. Implemented by Store.
type Rows interface {
	// Open returns the number of open tasks by principal of a project.
	Open(ctx context.Context, projectID string) (map[string]int, error)
	Create(ctx context.Context, row models.UpstreamTask) error
	// Update stores a new state. It reports whether the task was open before.
	Update(ctx context.Context, id, state string, open bool) (wasOpen bool, err error)
	// List returns up to n tasks of an owner after a position, newest first.
	List(ctx context.Context, owner Owner, after Position, n int) ([]models.UpstreamTask, error)
}

// Options configure Tasks. Caller, Handles and Now are required. Without Rows no
// task is stored.
type Options struct {
	Caller     Caller
	Handles    Handles
	Rows       Rows
	Now        func() time.Time
	Log        *slog.Logger
	Background *background.Tasks
}

// Tasks runs tools as tasks. It is safe for concurrent use.
type Tasks struct {
	Options
	known *known
	rooms rooms
	waits waits
}

// New returns Tasks.
func New(o Options) *Tasks {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Rows == nil {
		o.Rows = noRows{}
	}
	t := &Tasks{Options: o, known: newKnown(), waits: waits{now: map[string]int{}}}
	t.rooms.rows, t.rooms.now = o.Rows, o.Now
	return t
}

// Held is a task that its client holds by a handle.
type Held struct {
	Handle *Handle
	Text   string // the sealed handle
	Target *upstream.Target
	// Push sends a notification on the stream of the owner's session. It may be
	// nil and reports whether that stream is open.
	Push func(method string, params []byte) bool
}

// Adopt stores a new task of a client and returns the raw result for it, in which the handle replaces the server's id. h is the task without its server's id.
func (t *Tasks) Adopt(ctx context.Context, held *Held, created *Task, result []byte, place *Place) ([]byte, error) {
	h := held.Handle
	h.Form, h.ID, h.Until = created.Form, created.ID, t.until()
	text, err := t.seal(h)
	if err != nil {
		return nil, err
	}
	held.Text = text
	now := t.Now()
	row := models.UpstreamTask{
		ID: rowID(text), ProjectID: h.Owner.Project, Principal: h.Owner.Principal, ServerID: h.Server, Tool: h.Tool,
		State: created.state(text), Open: !created.IsDone(), CreatedAt: now, UpdatedAt: now, ExpiresAt: now.Add(created.lifetime()),
	}
	t.known.put(keyOf(held.Target, h.ID), entry{text: text, state: row.State, open: row.Open, push: held.Push, owner: h.Owner})
	if len(row.State) <= maxState {
		if err := t.Rows.Create(ctx, row); err != nil { // the client can still use the handle
			t.Log.Warn("task was not stored", "server", h.Server, "error", err)
		} else if row.Open {
			place.keep()
		}
	}
	return named(created.Form, result, text), nil
}

// named returns the raw result of a request with another task id.
func named(form Form, result []byte, text string) []byte {
	o := object(result)
	if form == Core && o.Get("task") != nil {
		task := o.Object("task")
		task.Set("taskId", rawjson.Quote(text))
		o.Set("task", task.Bytes())
	} else if o.Get("taskId") != nil {
		o.Set("taskId", rawjson.Quote(text))
	}
	return withRelated(o.Bytes(), text)
}

// Observe records the state that a raw object of a server reports for the task,
// and returns the object with the handle as its id. Objects without a state are
// only renamed.
func (t *Tasks) Observe(ctx context.Context, held *Held, raw []byte) []byte {
	if task := taskOf(held.Handle.Form, object(raw)); task != nil && task.ID == held.Handle.ID && task.Status != "" {
		t.record(ctx, held, task)
	}
	return named(held.Handle.Form, raw, held.Text)
}

// Ended records that a task has ended or is being cancelled. status is its state,
// or empty if the last known one stays.
func (t *Tasks) Ended(ctx context.Context, held *Held, status string) {
	key := keyOf(held.Target, held.Handle.ID)
	e, ok := t.known.get(key)
	if !ok || e.text != held.Text {
		e = entry{text: held.Text, open: true, push: held.Push, owner: held.Handle.Owner}
	}
	state := ""
	if status != "" && e.state != "" {
		o := object([]byte(e.state))
		o.Set("status", rawjson.Quote(status))
		state = string(o.Bytes())
	}
	if !e.open && (state == "" || state == e.state) {
		return
	}
	if state != "" {
		e.state = state
	}
	e.open = false
	t.known.put(key, e)
	t.store(ctx, held, state, false)
}

func (t *Tasks) record(ctx context.Context, held *Held, task *Task) {
	state, open := task.state(held.Text), !task.IsDone()
	before, stored := t.known.put(keyOf(held.Target, task.ID), entry{text: held.Text, state: state, open: open, push: held.Push, owner: held.Handle.Owner})
	same := before != nil && before.text == held.Text && before.state == state && before.open == open
	if !stored || same || len(state) > maxState {
		return
	}
	t.store(ctx, held, state, open)
}

func (t *Tasks) store(ctx context.Context, held *Held, state string, open bool) {
	closed, err := t.Rows.Update(context.WithoutCancel(ctx), rowID(held.Text), state, open)
	switch {
	case err != nil:
		t.Log.Warn("state of a task was not stored", "server", held.Handle.Server, "error", err)
	case closed && !open:
		t.rooms.close(held.Handle.Owner)
	}
}

// Notified handles a notification of a server about the state of a task: it
// passes it to the stream of its owner's session, under the handle. It returns
// false if the task is not held by a client of this process.
func (t *Tasks) Notified(target *upstream.Target, params []byte) bool {
	task := taskOf(Core, object(params))
	if task == nil {
		return false
	}
	e, ok := t.known.get(keyOf(target, task.ID))
	if !ok || e.shared {
		return false
	}
	held := &Held{Handle: &Handle{Owner: e.owner, Form: Core, Server: target.ServerID, ID: task.ID}, Text: e.text, Target: target, Push: e.push}
	t.Background.Go("task state", func() { t.record(context.Background(), held, task) }) // the stream of the server must not wait for the database
	if e.push != nil {
		e.push(upstream.TaskStatus, named(Core, params, e.text))
	}
	return true
}

// Wait admits a request that waits for a task of a server. It returns RATE_LIMITED
// beyond MaxWaits. The caller must call leave.
func (t *Tasks) Wait(serverID string) (leave func(), err error) { return t.waits.enter(serverID) }

// noRows stores nothing.
type noRows struct{}

func (noRows) Open(context.Context, string) (map[string]int, error)       { return map[string]int{}, nil }
func (noRows) Create(context.Context, models.UpstreamTask) error          { return nil }
func (noRows) Update(context.Context, string, string, bool) (bool, error) { return true, nil }
func (noRows) List(context.Context, Owner, Position, int) ([]models.UpstreamTask, error) {
	return nil, nil
}

// rowID returns the key of a task in the database. It is not a credential.
func rowID(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
