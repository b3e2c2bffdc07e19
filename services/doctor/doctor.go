// Package doctor connects to a project's endpoint from its public URL, step by
// step as an MCP client does, and names the fix of each step that fails.
package doctor

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/access/keys"
	"mcpgateway/services/activity"
	"mcpgateway/services/fault"
	"mcpgateway/services/oauthserver"
	"mcpgateway/services/secrets"
	"mcpgateway/services/toolset/views"
)

// Limits of a run.
const (
	// MaxTime is the maximum duration of a run, without its cleanup.
	MaxTime = 45 * time.Second
	// MaxRuns is the maximum number of concurrent runs of a process.
	MaxRuns = 4

	stepTime    = 8 * time.Second
	cleanupTime = 5 * time.Second
	keyLife     = 5 * time.Minute // if the process ends before it deletes the key
	maxBody     = 16 << 20        // bytes of a response
	maxPages    = 100             // of tools/list
	maxSkew     = time.Minute     // between the clocks of the gateway, its replicas and its proxies
)

// Status is the outcome of a step.
type Status string

// The outcomes of a step.
const (
	OK      Status = "ok"
	Failed  Status = "failed"
	Skipped Status = "skipped" // an earlier step failed, or it can't be tested
)

// Step is the outcome of one step of a run.
type Step struct {
	ID     string `json:"id"` // such as redirects
	Name   string `json:"name"`
	Status Status `json:"status"`
	Detail string `json:"detail"` // what was found
	Fix    string `json:"fix"`    // what to do; empty unless the step failed
	MS     int64  `json:"ms"`
}

// Keys creates and deletes the key of a run. Implemented by keys.Store.
type Keys interface {
	CreateScoped(ctx context.Context, projectID string, n keys.Attributes) (models.Key, secrets.Value, error)
	Discard(ctx context.Context, projectID, id string) error
}

// AuthorizationServer records the consent of the user of a run, and deletes its
// client. Implemented by oauthserver.Server.
type AuthorizationServer interface {
	Authorize(ctx context.Context, query url.Values, person *oauthserver.User) (*oauthserver.Authorization, error)
	Decide(ctx context.Context, person oauthserver.User, sealed, projectID string, allow bool) (string, error)
	DiscardNamed(ctx context.Context, name string) error
}

// Auditor records that the doctor ran.
type Auditor interface {
	Record(tx *gorm.DB, e activity.Entry) error
}

// Options are the dependencies of a Doctor. All are required.
type Options struct {
	DB     *gorm.DB
	Audit  Auditor
	Client *http.Client // reaches the public URL, follows no redirects and keeps no connections
	Public *url.URL     // origin of the gateway
	Probes *Probes
	Keys   Keys
	OAuth  AuthorizationServer
	Log    *slog.Logger
	Now    func() time.Time
}

// Doctor tests how clients reach the gateway. It is safe for concurrent use.
type Doctor struct {
	Options
	slots   chan struct{}
	mu      sync.Mutex
	running map[string]bool // by the ID of the project
}

// New returns a Doctor.
func New(o Options) *Doctor {
	return &Doctor{Options: o, slots: make(chan struct{}, MaxRuns), running: map[string]bool{}}
}

// Request describes a run.
type Request struct {
	At     *views.Endpoint
	Origin string // of a client in a browser, such as https://app.example.com; may be empty
	UserID string // who runs it; empty for the administration token
}

// Run tests an endpoint and returns all steps. It calls report, which can be nil,
// after each of them. It deletes the key or the client that it creates, and records
// doctor.finished. It returns VALIDATION_FAILED for an invalid origin and CONFLICT if
// too many runs are in progress.
func (d *Doctor) Run(ctx context.Context, asked Request, report func(Step)) ([]Step, error) {
	if err := CheckOrigin(asked.Origin); err != nil {
		return nil, err
	}
	release, err := d.enter(asked.At.Project().ID)
	if err != nil {
		return nil, err
	}
	defer release()
	r := &run{Doctor: d, Request: asked, report: report, base: d.Public.String() + asked.At.Path(), mark: d.Probes.mark(asked.At.Project().ID)}
	limited, cancel := context.WithTimeout(ctx, MaxTime)
	defer cancel()
	r.all(limited)
	// The cleanup must complete even if the user leaves.
	rest, done := context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
	defer done()
	r.cleanUp(rest)
	return r.steps, d.record(rest, asked.At, r.steps)
}

// enter waits for nothing: it returns CONFLICT if the project has a run or the
// process too many.
func (d *Doctor) enter(projectID string) (release func(), err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.running[projectID] {
		return nil, fault.Conflict("The client doctor is already testing this project. Retry in a minute.")
	}
	select {
	case d.slots <- struct{}{}:
	default:
		return nil, fault.Conflict("The client doctor is testing %d other projects. Retry in a minute.", MaxRuns)
	}
	d.running[projectID] = true
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.running, projectID)
		<-d.slots
	}, nil
}

// record records the run with the steps that failed.
func (d *Doctor) record(ctx context.Context, at *views.Endpoint, steps []Step) error {
	var failed []string
	for _, s := range steps {
		if s.Status == Failed {
			failed = append(failed, s.ID)
		}
	}
	entry := activity.Entry{
		Action: "doctor.finished", Object: at.Project().Name, ObjectID: at.Project().ID, Project: at.Project().Slug, Detail: map[string]string{"failed": strings.Join(failed, ", ")},
	}
	if t := at.Toolset(); t != nil {
		entry.Detail["toolset"] = t.Slug
	}
	if err := d.DB.WithContext(ctx).Transaction(func(tx *gorm.DB) error { return d.Audit.Record(tx, entry) }); err != nil {
		return fault.From(err)
	}
	return nil
}

// CheckOrigin returns VALIDATION_FAILED unless the text is empty or the origin of a
// site.
func CheckOrigin(origin string) error {
	if origin == "" {
		return nil
	}
	u, err := url.Parse(origin)
	if err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && origin == u.Scheme+"://"+u.Host && len(origin) <= maxValue {
		return nil
	}
	return fault.Validation(map[string]string{"origin": "Use an origin such as https://app.example.com, without a path."})
}

// WarnRedirect logs a warning if the public URL redirects, which no client of an
// endpoint follows. It returns after one request.
func (d *Doctor) WarnRedirect(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, stepTime)
	defer cancel()
	r := &run{Doctor: d}
	got, err := r.send(ctx, request{method: http.MethodGet, url: d.Public.String() + "/healthz"})
	if err != nil || !got.isRedirect() {
		return // unreachable from here is usual, for example before the proxy starts
	}
	d.Log.Warn("public URL redirects", "setting", "GATEWAY_PUBLIC_URL", "url", d.Public.String(), "location", clip(got.header.Get("Location")))
}
