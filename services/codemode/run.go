// Package codemode runs code that calls the tools of a project, keeps traces of
// the runs and lists the tools for it. The code itself runs in services/sandbox.
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

// Dispatcher makes the tool calls of a run. It must do what tools/call does
// for the same client: the same filters, limits and records.
type Dispatcher interface {
	// Call calls the tool with the exported name and returns its raw
	// CallToolResult. Its errors are faults, or an error whose text is a raw
	// JSON-RPC error object. It must return soon after the context ends.
	Call(ctx context.Context, name string, arguments []byte) ([]byte, error)
}

// Validator checks the arguments of a call before it is made.
type Validator interface {
	// Check returns an error that names the path and the accepted values when
	// the raw arguments do not fit the inputSchema of the raw tool definition.
	Check(definition, arguments []byte) error
}

// Effect is what a call does to the world, as far as is known.
type Effect string

// The effects of a call, from the annotations of its tool.
const (
	EffectRead    Effect = "read"
	EffectWrite   Effect = "write"
	EffectUnknown Effect = "unknown"
)

// EffectOf reads the effect from a raw tool definition: readOnlyHint true is
// a read; readOnlyHint false or any destructiveHint is a write. What the
// upstream does not say is unknown.
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
	Alias      string // of its server; the code sees Identifier(Alias)
	ToolName   string // as the upstream knows it: the member of the namespace
	Definition []byte // raw
	Effect     Effect
}

// Seed decides what the code's clock and Math.random answer, so that a run
// can be replayed. The clock stands still while the code computes.
type Seed struct {
	Time   time.Time
	Random uint64
}

// Typecheck says what the compiler's complaints do.
type Typecheck string

// The modes of a type check. Without a compiler TypecheckWarn is off and
// TypecheckError is rejected.
const (
	TypecheckOff   Typecheck = "off"
	TypecheckWarn  Typecheck = "warn"  // they become log lines
	TypecheckError Typecheck = "error" // they end the run before it begins
)

// Progress is what happened in the middle of a run.
type Progress struct {
	Message string // "github__list_issues done (2/5, 210 ms)", or a line of console.info
	Done    int    // finished calls
	Started int    // calls so far
}

// Step is something that has just happened in a run: a call began or ended,
// or the code wrote a line. One of its pointers is set.
type Step struct {
	Began *CallRecord // a call was sent; what is known of it already
	Ended *CallRecord
	Line  *LogLine
}

// Request is one run of code.
type Request struct {
	ProjectID    string
	Principal    string // who runs it, as the call log shows it
	Code         string
	Input        json.RawMessage // any JSON, or nil
	Timeout      time.Duration   // 0 takes ProjectLimit
	ProjectLimit time.Duration   // what the project allows; 0 is DefaultTimeout
	// DryRun lets calls with the effect "read" through and only records the
	// others: the code gets {dryRun: true, tool, arguments} as their result,
	// and the outcome carries them as a plan.
	DryRun    bool
	Typecheck Typecheck
	// Declarations returns the TypeScript declarations of Tools; it is asked
	// for when there is a type check.
	Declarations func() (string, error)
	Tools        []Tool
	AllowFetch   bool
	Seed         *Seed // nil takes the time and a random number
	// AwaitTrace lets Run return only when the trace is stored, whose id is
	// then in the outcome.
	AwaitTrace bool
	// TraceID is under what the run is to be kept, for a caller that wants to
	// find it before Run returns; empty takes a new one.
	TraceID  string
	Progress func(Progress) // may be nil; called one at a time
	// Watch hears of every step, as somebody wants to who looks on. It may be
	// nil, is called one at a time, and must return soon: the run waits for it.
	Watch func(Step)
}

// Options are the settings of a Runner.
type Options struct {
	// Command starts a child. Empty is this program's own binary with
	// WorkerCommand; a program that does not ask IsWorker at its start must
	// name another.
	Command []string
	// TSC is the path of the native TypeScript compiler, or empty.
	TSC string
	// Fetch is the client behind fetch, from services/egress; nil has none.
	Fetch *http.Client
	// Validate checks arguments; nil checks nothing.
	Validate Validator
	// Traces keeps finished runs; nil keeps none.
	Traces *Traces
	Log    *slog.Logger
	Tasks  *background.Tasks // may be nil
}

// Runner runs code in child processes. It is safe for concurrent use.
type Runner struct {
	pool    *sandbox.Pool
	places  *places
	options Options
	log     *slog.Logger
	warned  sync.Once
}

// NewRunner returns a runner. It starts no process before the first run;
// Close ends those that it started.
func NewRunner(o Options) *Runner {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Runner{pool: sandbox.NewPool(o.Command, o.Tasks), places: newPlaces(2*runtime.GOMAXPROCS(0), MaxRunsPerProject), options: o, log: o.Log}
}

// Close ends every child, running ones too, and returns when they are gone.
func (r *Runner) Close() { r.pool.Close() }

// CanTypecheck reports whether a compiler is configured.
func (r *Runner) CanTypecheck() bool { return r.options.TSC != "" }

// Run runs code and returns how it ended, with every call that it made. The
// code's own failures are outcomes. Errors are INVALID_PARAMETER faults for a
// request that cannot be run, and INTERNAL when no child can be started. It
// returns soon after the context ends, with the phase cancelled.
func (r *Runner) Run(ctx context.Context, q Request, d Dispatcher) (Outcome, error) {
	if err := q.check(); err != nil {
		return Outcome{}, err
	}
	if q.Typecheck == TypecheckError && !r.CanTypecheck() {
		return Outcome{}, fault.Invalid("typecheck needs a compiler, and this gateway has none: leave it out. Nothing was run.")
	}
	begin := time.Now()
	if q.Seed == nil {
		q.Seed = newSeed(begin)
	}
	leave, err := r.places.enter(ctx, q.ProjectID)
	if err != nil {
		out := emptyOutcome(refusal(ctx, err))
		out.Usage.MS = time.Since(begin).Milliseconds()
		return out, nil
	}
	defer leave()
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

// checkConfined warns once where the kernel cannot keep a child from files and
// networks, so that the engine and the limits are all that holds the code.
func (r *Runner) checkConfined(c *sandbox.Child) {
	if confined := c.Confined(); !slices.Contains(confined, "seccomp") && !slices.Contains(confined, "landlock") {
		r.warned.Do(func() {
			r.log.Warn("this system has neither seccomp nor Landlock: code runs with fewer walls around it", "granted", confined)
		})
	}
}

// keep has the trace of a finished run kept and returns the outcome, with the
// trace's id where that is asked for.
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

// check returns the fault of an unusable request and settles its time-out.
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
		return fault.Invalid("code is empty: give the body of an async function")
	case len(q.Code) > sandbox.MaxCode:
		return fault.Invalid("code has %d bytes, more than %d", len(q.Code), sandbox.MaxCode)
	case len(q.Input) > MaxInput:
		return fault.Invalid("input has %d bytes of JSON, more than %d", len(q.Input), MaxInput)
	case len(q.Input) > 0 && rawjson.Valid(q.Input, rawjson.Lenient) != nil:
		return fault.Invalid("input is not JSON")
	case q.Timeout < 0 || q.Timeout > limit:
		return fault.Invalid("timeout must be from 1 to %d milliseconds, what this project allows", limit.Milliseconds())
	case q.Typecheck != "" && q.Typecheck != TypecheckOff && q.Typecheck != TypecheckWarn && q.Typecheck != TypecheckError:
		return fault.Invalid("typecheck must be off, warn or error")
	}
	return nil
}

// newSeed returns a seed of now.
func newSeed(now time.Time) *Seed {
	var random [8]byte
	rand.Read(random[:]) // never fails
	return &Seed{Time: now.UTC().Truncate(time.Millisecond), Random: binary.LittleEndian.Uint64(random[:])}
}

// start returns the message that begins the run in a child.
func (q *Request) start(left time.Duration) sandbox.StartMessage {
	return sandbox.StartMessage{
		Code: q.Code, Input: q.Input, Namespaces: q.namespaces(), Fetch: q.AllowFetch, MaxCalls: sandbox.MaxCalls,
		TimeoutMS: max(1, left.Milliseconds()), CPUMillis: sandbox.MaxCPU.Milliseconds(), Clock: q.Seed.Time.UnixMilli(),
		Random: [4]uint32{uint32(q.Seed.Random), uint32(q.Seed.Random >> 32), 0x9e3779b9, 1},
	}
}

// namespaces returns the constants that the code may name, those that it
// cannot name left out: a project with thousands of tools starts as fast as
// one with ten.
func (q *Request) namespaces() []sandbox.Namespace {
	everything := strings.Contains(q.Code, `\u`) || strings.Contains(q.Code, "eval") || strings.Contains(q.Code, "Function") || strings.Contains(q.Code, "constructor")
	spaces := []sandbox.Namespace{}
	index := map[string]int{} // by alias
	for _, tool := range q.Tools {
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
