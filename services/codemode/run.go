// Package codemode runs code that calls the tools of a project, stores traces
// of the runs and returns TypeScript declarations of the tools. The code itself
// runs in services/sandbox.
package codemode

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"log/slog"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"mcpgateway/services/background"
	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/sandbox"
	"mcpgateway/services/typescript"
)

// Dispatcher sends the tool calls of a run. It must apply the same filters,
// limits and records as tools/call does for the same client.
type Dispatcher interface {
	// Call calls the tool with the exported name and returns its raw
	// CallToolResult. Errors are faults, or have a raw JSON-RPC error object as
	// their text. Call must return soon after the context ends.
	Call(ctx context.Context, name string, arguments []byte) ([]byte, error)
}

// Validator checks the arguments of a call before it is sent.
type Validator interface {
	// Check returns an error that names the path and the accepted values when
	// the raw arguments don't match the inputSchema of the raw tool definition.
	Check(definition, arguments []byte) error
}

// Effect is the known effect of a call: whether it reads or writes.
type Effect string

// The effects of a call, from the annotations of its tool.
const (
	EffectRead    Effect = "read"
	EffectWrite   Effect = "write"
	EffectUnknown Effect = "unknown"
)

// EffectOf returns the effect declared by a raw tool definition. A tool with
// readOnlyHint true reads. A tool with readOnlyHint false, or with any
// destructiveHint, writes. Without these hints the effect is unknown.
func EffectOf(definition []byte) Effect {
	o, err := rawjson.ParseObject(definition, rawjson.Lenient)
	if err != nil {
		return EffectUnknown
	}
	annotations := o.Object("annotations")
	switch {
	case string(annotations.Get("readOnlyHint")) == "true":
		return EffectRead
	case annotations.Get("readOnlyHint") != nil || annotations.Get("destructiveHint") != nil:
		return EffectWrite
	}
	return EffectUnknown
}

// Tool is one tool that the code can call.
type Tool struct {
	Name       string // exported, alias__tool or shortened
	Alias      string // of its server; the code uses Identifier(Alias)
	ToolName   string // the upstream's own name: the member of the namespace
	Definition []byte // raw
	Effect     Effect
}

// Seed sets the clock and Math.random of the code, so that a run can be
// replayed. The clock doesn't advance while the code computes.
type Seed struct {
	Time   time.Time
	Random uint64
}

// Typecheck is the effect of compiler diagnostics on a run.
type Typecheck string

// The modes of a type check. Without a compiler TypecheckWarn has no effect and
// TypecheckError is rejected.
const (
	TypecheckOff   Typecheck = "off"
	TypecheckWarn  Typecheck = "warn"  // diagnostics become log lines
	TypecheckError Typecheck = "error" // diagnostics fail the run before it starts
)

// Progress is one progress report of a run.
type Progress struct {
	Message string // "github__list_issues done (2/5, 210 ms)", or a line of console.info
	Done    int    // finished calls
	Started int    // calls started so far
}

// Step is one event of a run: a call started or ended, or the code logged a
// line. Exactly one of the pointers is set.
type Step struct {
	Began *CallRecord // a call was sent; its outcome is not yet known
	Ended *CallRecord
	Line  *LogLine
}

// Request is one run of code.
type Request struct {
	ProjectID    string
	Principal    string // the user or key that runs it, as in the call log
	Code         string
	Input        json.RawMessage // any JSON, or nil
	Timeout      time.Duration   // 0 means ProjectLimit
	ProjectLimit time.Duration   // the project's limit; 0 means DefaultTimeout
	// DryRun sends only calls with the effect "read" and records the others.
	// The code gets {dryRun: true, tool, arguments} as their result, and the
	// outcome lists them as a plan.
	DryRun bool
	// ReadOnly refuses calls that may write, for code that is declared to read.
	ReadOnly bool
	// Recipe is the name of the recipe whose code this is, or empty.
	Recipe string
	// Nested is set for a run that a call of another run waits for. It takes no
	// slot: the other run has one.
	Nested    bool
	Typecheck Typecheck
	// Declarations returns the TypeScript declarations of Tools. It is called
	// only when there is a type check.
	Declarations func() (string, error)
	Tools        []Tool
	AllowFetch   bool
	Artifacts    Artifacts // values that the code stores; nil refuses them
	Seed         *Seed     // nil means the current time and a random number
	// With AwaitTrace, Run returns after the trace is stored, and the outcome has
	// the trace's id.
	AwaitTrace bool
	// TraceID is the id of the trace, for a caller that needs it before Run
	// returns. Empty means a new id.
	TraceID  string
	Progress func(Progress) // may be nil; called one at a time
	// OnStep, if not nil, is called for every step, one at a time. It must
	// return soon: the run waits for it.
	OnStep func(Step)
}

// Options configure a Runner.
type Options struct {
	// Command starts a child. Empty means this program's own binary with
	// WorkerCommand. A program that doesn't call IsWorker when it starts must
	// set another command.
	Command []string
	// TSC is the path of the native TypeScript compiler, or empty.
	TSC string
	// Fetch is the client used by fetch, from services/egress. A nil client
	// disables fetch.
	Fetch *http.Client
	// Validate checks arguments. Nil means no check.
	Validate Validator
	// Traces stores finished runs. Nil stores none.
	Traces *Traces
	Log    *slog.Logger
	Tasks  *background.Tasks // may be nil
}

// Runner runs code in child processes. It is safe for concurrent use.
type Runner struct {
	pool    *sandbox.Pool
	places  *runLimiter
	options Options
	log     *slog.Logger
	warned  sync.Once
}

// NewRunner returns a runner. It starts no process before the first run. Close
// ends the processes that it started.
func NewRunner(o Options) *Runner {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Runner{pool: sandbox.NewPool(o.Command, o.Tasks), places: newPlaces(2*runtime.GOMAXPROCS(0), MaxRunsPerProject), options: o, log: o.Log}
}

// Close kills every child, including running ones, and waits until they have
// exited.
func (r *Runner) Close() { r.pool.Close() }

// CanTypecheck reports whether a compiler is configured.
func (r *Runner) CanTypecheck() bool { return r.options.TSC != "" }

// Run runs code and returns its outcome with every call that it made. Failures
// of the code are part of the outcome. Run returns an INVALID_PARAMETER fault
// for an invalid request, and INTERNAL when no child can be started. It returns
// soon after the context ends, with the phase cancelled.
func (r *Runner) Run(ctx context.Context, q Request, d Dispatcher) (Outcome, error) {
	if err := q.check(); err != nil {
		return Outcome{}, err
	}
	if q.Typecheck == TypecheckError && !r.CanTypecheck() {
		return Outcome{}, fault.Invalid("Type checking is not available: this gateway has no compiler. Leave typecheck out. Nothing was run.")
	}
	begin := time.Now()
	if q.Seed == nil {
		q.Seed = newSeed(begin)
	}
	if !q.Nested {
		leave, err := r.places.acquire(ctx, q.ProjectID)
		if err != nil {
			out := emptyOutcome(limitError(ctx, err))
			out.Usage.MS = time.Since(begin).Milliseconds()
			return out, nil
		}
		defer leave()
	}
	begin = time.Now()
	run := newRun(ctx, r, &q, d, begin)
	defer run.cancel()
	if out, done := run.typecheck(); done {
		return r.keep(ctx, &q, begin, out), nil
	}
	out, err := run.execute()
	if err != nil {
		return Outcome{}, fault.Internal(err)
	}
	return r.keep(ctx, &q, begin, out), nil
}

// warnUnconfined logs one warning when the kernel supports neither seccomp nor
// Landlock. Then only the engine and the resource limits confine the code.
func (r *Runner) warnUnconfined(c *sandbox.Child) {
	if confined := c.Confined(); !slices.Contains(confined, "seccomp") && !slices.Contains(confined, "landlock") {
		r.warned.Do(func() {
			r.log.Warn("code runs without seccomp and Landlock", "granted", confined)
		})
	}
}

// keep stores the trace of a finished run and returns the outcome, with the
// trace's id if the request awaits it.
func (r *Runner) keep(ctx context.Context, q *Request, begin time.Time, out Outcome) Outcome {
	switch traces := r.options.Traces; {
	case traces == nil:
	case q.AwaitTrace:
		out.TraceID = traces.keepNow(ctx, q, begin, out)
	default:
		traces.keep(q, begin, out)
	}
	return out
}

// check returns a fault for an invalid request and sets the default timeout.
func (q *Request) check() error {
	limit := q.ProjectLimit
	if limit == 0 {
		limit = DefaultTimeout
	}
	if q.Timeout == 0 {
		q.Timeout = limit
	}
	switch {
	case strings.TrimSpace(q.Code) == "":
		return fault.Invalid("code must not be empty. Send the body of an async function.")
	case len(q.Code) > sandbox.MaxCode:
		return fault.Invalid("code has %d bytes; the maximum is %d. Shorten it.", len(q.Code), sandbox.MaxCode)
	case len(q.Input) > MaxInput:
		return fault.Invalid("input has %d bytes of JSON; the maximum is %d. Shorten it.", len(q.Input), MaxInput)
	case len(q.Input) > 0 && rawjson.Valid(q.Input, rawjson.Lenient) != nil:
		return fault.Invalid("input must be valid JSON.")
	case q.Timeout < 0 || q.Timeout > limit:
		return fault.Invalid("timeout must be from 1 to %d milliseconds, the limit of this project.", limit.Milliseconds())
	case q.Typecheck != "" && q.Typecheck != TypecheckOff && q.Typecheck != TypecheckWarn && q.Typecheck != TypecheckError:
		return fault.Invalid("typecheck must be off, warn or error.")
	}
	return nil
}

// newSeed returns a seed with the time now and a random number.
func newSeed(now time.Time) *Seed {
	var random [8]byte
	rand.Read(random[:]) // never fails
	return &Seed{Time: now.UTC().Truncate(time.Millisecond), Random: binary.LittleEndian.Uint64(random[:])}
}

// start returns the message that starts the run in a child.
func (q *Request) start(left time.Duration) sandbox.StartMessage {
	return sandbox.StartMessage{
		Code: q.Code, Input: q.Input, Namespaces: q.namespaces(), Fetch: q.AllowFetch, Whole: q.Artifacts != nil, MaxCalls: sandbox.MaxCalls,
		TimeoutMS: max(1, left.Milliseconds()), CPUMillis: sandbox.MaxCPU.Milliseconds(), Clock: q.Seed.Time.UnixMilli(),
		Random: [4]uint32{uint32(q.Seed.Random), uint32(q.Seed.Random >> 32), 0x9e3779b9, 1},
	}
}

// namespaces returns the constants that the code may use, without those that it
// can't name. So a project with thousands of tools starts as fast as one with
// ten.
func (q *Request) namespaces() []sandbox.Namespace {
	everything := strings.Contains(q.Code, `\u`) || strings.Contains(q.Code, "eval") || strings.Contains(q.Code, "Function") || strings.Contains(q.Code, "constructor")
	spaces := []sandbox.Namespace{}
	index := map[string]int{} // by alias; -1 is not needed
	for _, tool := range q.Tools {
		if tool.Alias == ownAlias { // recipes are called by gateway.run
			continue
		}
		i, known := index[tool.Alias]
		if !known {
			i = -1
			if ident := typescript.Identifier(tool.Alias); everything || strings.Contains(q.Code, ident) {
				i = len(spaces)
				spaces = append(spaces, sandbox.Namespace{Ident: ident})
			}
			index[tool.Alias] = i
		}
		if i >= 0 {
			spaces[i].Tools = append(spaces[i].Tools, [2]string{tool.ToolName, tool.Name})
		}
	}
	return spaces
}
