package runners_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/background/leaktest"
	"mcpgateway/services/runners"
	"mcpgateway/services/runners/wire"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// fakeRunner is a runner in this process.
type fakeRunner struct {
	mcp http.HandlerFunc

	mu       sync.Mutex
	list     wire.List
	lines    []wire.Line
	received []string // methods and paths of requests about a program
	woken    chan struct{}
}

func newFake(servers ...wire.Server) *fakeRunner {
	return &fakeRunner{woken: make(chan struct{}), list: wire.List{
		Version: wire.Version, Runner: "r1", Files: []wire.File{{Path: "/home/a/mcp.json", SHA256: "aaaa"}}, Servers: servers,
	}}
}

// change changes the list and sends it.
func (f *fakeRunner) change(edit func(*wire.List)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	edit(&f.list)
	close(f.woken)
	f.woken = make(chan struct{})
}

func (f *fakeRunner) now() ([]byte, chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	raw, _ := json.Marshal(f.list)
	return raw, f.woken
}

func (f *fakeRunner) requests() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.received...)
}

func (f *fakeRunner) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case wire.PathServers:
		raw, _ := f.now()
		_, _ = w.Write(raw)
		return
	case wire.PathEvents:
		w.Header().Set("Content-Type", "text/event-stream")
		for {
			raw, woken := f.now()
			_, _ = fmt.Fprintf(w, "data: %s\n\n", raw)
			_ = http.NewResponseController(w).Flush()
			select {
			case <-woken:
			case <-r.Context().Done():
				return
			}
		}
	}
	f.mu.Lock()
	f.received = append(f.received, r.Method+" "+r.URL.EscapedPath())
	lines := f.lines
	f.mu.Unlock()
	switch {
	case f.mcp != nil:
		f.mcp(w, r)
	case r.Method == http.MethodGet:
		_ = json.NewEncoder(w).Encode(wire.Log{Lines: lines})
	}
}

// world are Runners with a fake runner attached.
type world struct {
	*runners.Runners
	runner  *fakeRunner
	row     models.Server
	audit   chan runners.Event
	changed chan string
	ended   chan error
	conn    net.Conn
}

// options returns options whose lists give each program the ID "id-" and its name.
func options(audit chan runners.Event, changed chan string) runners.Options {
	return runners.Options{
		Listed: func(_ context.Context, _ runners.Peer, l wire.List) (map[string]string, error) {
			ids := map[string]string{}
			for _, s := range l.Servers {
				ids[s.Name] = "id-" + s.Name
			}
			return ids, nil
		},
		Audit:   func(_ context.Context, e runners.Event) error { audit <- e; return nil },
		Changed: func(id string) { changed <- id },
		Now:     time.Now, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
}

// attach returns Runners to which the fake runner is connected.
func attach(t *testing.T, f *fakeRunner, p runners.Peer) *world {
	t.Helper()
	w := &world{runner: f, audit: make(chan runners.Event, 20), changed: make(chan string, 100), ended: make(chan error, 1)}
	w.Runners = runners.New(options(w.audit, w.changed))
	w.row = models.Server{ID: "id-notes", Alias: "notes", Entry: "notes", Source: p.Source, ConnectorID: p.ConnectorID}
	w.connect(t, p)
	<-w.changed
	return w
}

// connect connects the fake runner.
func (w *world) connect(t *testing.T, p runners.Peer) {
	t.Helper()
	ours, theirs := net.Pipe()
	w.conn = theirs
	ctx, cancel := context.WithCancel(context.Background())
	served, attached := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(served)
		wire.Serve(ctx, theirs, w.runner, nil)
	}()
	go func() {
		defer close(attached)
		w.ended <- w.Attach(ctx, p, ours)
	}()
	t.Cleanup(func() { cancel(); <-attached; <-served })
}

func notes(state wire.State) wire.Server {
	return wire.Server{Name: "notes", Hash: "h1", State: state, Since: time.Now(), Program: "notes", StartTimeoutMS: 90_000}
}
