package inventory_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/inventory"
	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/credentials"
	"mcpgateway/services/upstream/pool"
)

// streaming passes requests to a handler without a network. Responses arrive as
// they are written, so that time can be virtual.
type streaming struct{ http.Handler }

func (h streaming) RoundTrip(r *http.Request) (*http.Response, error) {
	body, pipe := io.Pipe()
	w := &pipedAnswer{header: http.Header{}, pipe: pipe, begun: make(chan struct{})}
	go func() {
		h.ServeHTTP(w, r)
		w.WriteHeader(http.StatusOK)
		_ = pipe.Close()
	}()
	context.AfterFunc(r.Context(), func() { _ = pipe.CloseWithError(r.Context().Err()) })
	select {
	case <-w.begun:
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	return &http.Response{StatusCode: w.status, Header: w.header, Body: body, ContentLength: -1, Request: r, ProtoMajor: 1, ProtoMinor: 1}, nil
}

type pipedAnswer struct {
	header http.Header
	pipe   *io.PipeWriter
	status int
	once   sync.Once
	begun  chan struct{}
}

func (w *pipedAnswer) Header() http.Header { return w.header }

func (w *pipedAnswer) WriteHeader(status int) {
	w.once.Do(func() {
		w.status = status
		close(w.begun)
	})
}

func (w *pipedAnswer) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.pipe.Write(p)
}

func (w *pipedAnswer) Flush() {}

// announcer is an upstream that announces changed tools on request and records
// when they are listed.
type announcer struct {
	mu       sync.Mutex
	start    time.Time
	lists    []time.Duration
	tools    string
	hold     chan struct{} // if not nil, a list waits for it
	announce chan struct{}
	reported chan string // a reported list, if the test has received the one before
}

func (a *announcer) report(_, alias, method string) {
	select {
	case a.reported <- alias + " " + method:
	default:
	}
}

func (a *announcer) listed() []time.Duration {
	synctest.Wait()
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.lists)
}

func (a *announcer) set(tools string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tools = tools
}

func (a *announcer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodDelete:
		return
	case http.MethodGet:
		w.Header().Set("Content-Type", "text/event-stream")
		w.WriteHeader(http.StatusOK)
		for {
			select {
			case <-a.announce:
				_, _ = io.WriteString(w, "data: "+`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`+"\n\n")
			case <-r.Context().Done():
				return
			}
		}
	}
	m := received(r)
	switch m.Method {
	case "initialize":
		w.Header().Set("Mcp-Session-Id", "s1")
		writeJSON(w, `{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}}}}`)
	case "tools/list":
		a.mu.Lock()
		a.lists = append(a.lists, time.Since(a.start))
		tools, hold := a.tools, a.hold
		a.mu.Unlock()
		if hold != nil {
			<-hold
		}
		writeJSON(w, `{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":{"tools":`+tools+`}}`)
	case "server/discover":
		w.WriteHeader(http.StatusBadRequest)
	default:
		w.WriteHeader(http.StatusAccepted)
	}
}

func withAnnouncer(t *testing.T, f func(t *testing.T, a *announcer, s *inventory.Syncer)) {
	t.Helper()
	dsn := modelstest.SQLite(t)
	synctest.Test(t, func(t *testing.T) {
		db := modelstest.Open(t, dsn)
		a := &announcer{start: time.Now(), tools: `[{"name":"a"}]`, announce: make(chan struct{}), reported: make(chan string, 1)}
		pool := pool.New(&http.Client{Transport: streaming{a}}, "1.2.3")
		row := models.Server{
			ID: "s", ProjectID: "p", Alias: "s", AliasFold: "s", URL: "http://a.example/mcp", Transport: models.TransportStreamableHTTP, AuthType: models.UpstreamAuthNone,
			Enabled: true, TimeoutMS: 60_000, SessionMode: models.SessionShared, DefinitionPolicy: models.PolicyFollow, ConfigVersion: 1,
		}
		for _, record := range []any{&models.Project{ID: "p", Slug: "p", AuthMode: models.AuthNone, ToolExposure: models.ExposeFull}, &row} {
			if err := db.Create(record).Error; err != nil {
				t.Fatal(err)
			}
		}
		toTarget := func(row models.Server) *upstream.Target {
			return credentials.NewTarget(row, noSecrets{}, credentials.Rows{})
		}
		s := inventory.NewSyncer(inventory.Options{DB: db, Pool: pool, Target: toTarget, Feed: &announced{}, Now: time.Now, Log: slog.New(slog.DiscardHandler), Listed: a.report})
		if err := s.Plan(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			s.Run(ctx)
		}()
		defer pool.Close()
		defer func() { cancel(); <-ended }()
		f(t, a, s)
	})
}

func TestAnnouncementsShareSync(t *testing.T) {
	withAnnouncer(t, func(t *testing.T, a *announcer, _ *inventory.Syncer) {
		if got := a.listed(); len(got) != 1 || got[0] != 0 {
			t.Fatalf("listed at %v", got)
		}
		// One sync finds changes before the stream was open.
		time.Sleep(11 * time.Second)
		if got := a.listed(); len(got) != 2 || got[1] < 9*time.Second {
			t.Fatalf("listed at %v", got)
		}
		time.Sleep(time.Minute)
		a.set(`[{"name":"b"}]`)
		for range 50 {
			a.announce <- struct{}{}
		}
		if got := a.listed(); len(got) != 2 {
			t.Errorf("listed at %v, before further announcements could arrive", got)
		}
		time.Sleep(200 * time.Millisecond)
		if got := a.listed(); len(got) != 3 {
			t.Errorf("50 announcements: listed at %v", got)
		}
	})
}

func TestFalseAnnouncementsAreDelayed(t *testing.T) {
	withAnnouncer(t, func(t *testing.T, a *announcer, _ *inventory.Syncer) {
		stop := time.After(20 * time.Minute)
		for over := false; !over; {
			time.Sleep(50 * time.Millisecond)
			select {
			case a.announce <- struct{}{}:
			case <-stop:
				over = true
			}
		}
		got := a.listed()
		if n := len(got); n < 15 || n > 40 {
			t.Errorf("24,000 announcements without a change caused %d syncs", n)
		}
		a.set(`[{"name":"b"}]`) // after a real change the delay is reset
		a.announce <- struct{}{}
		time.Sleep(2 * time.Minute)
		before := len(a.listed())
		for i := range 5 {
			a.set(fmt.Sprintf(`[{"name":"c%d"}]`, i))
			a.announce <- struct{}{}
			time.Sleep(2 * time.Second)
		}
		if n := len(a.listed()) - before; n != 5 {
			t.Errorf("5 changes caused %d syncs", n)
		}
	})
}

// TestEqualListsAreReportedInTime announces a list without a change every two seconds.
// Syncs become rare, but each announcement is reported within a second.
func TestEqualListsAreReportedInTime(t *testing.T) {
	withAnnouncer(t, func(t *testing.T, a *announcer, _ *inventory.Syncer) {
		time.Sleep(time.Minute)
		for i := range 10 {
			a.announce <- struct{}{}
			time.Sleep(time.Second)
			select {
			case got := <-a.reported:
				if got != "s "+upstream.ToolsListChanged {
					t.Errorf("reported %q", got)
				}
			default:
				t.Errorf("announcement %d was not reported", i)
			}
			time.Sleep(time.Second)
		}
	})
}

func TestAnnouncementDuringSyncIsKept(t *testing.T) {
	withAnnouncer(t, func(t *testing.T, a *announcer, s *inventory.Syncer) {
		time.Sleep(time.Minute)
		before := len(a.listed())
		hold := make(chan struct{})
		a.mu.Lock()
		a.hold = hold
		a.mu.Unlock()
		result := make(chan error, 1)
		go func() {
			_, err := s.Sync(context.Background(), "s")
			result <- err
		}()
		if n := len(a.listed()) - before; n != 1 {
			t.Fatalf("%d lists", n)
		}
		a.set(`[{"name":"late"}]`) // the blocked list contains the old tools
		a.announce <- struct{}{}
		time.Sleep(time.Second) // its sync joins the running one
		a.mu.Lock()
		a.hold = nil
		a.mu.Unlock()
		close(hold)
		if err := <-result; err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		if n := len(a.listed()) - before; n != 2 {
			t.Errorf("%d lists: announcement during a sync was lost", n)
		}
	})
}
