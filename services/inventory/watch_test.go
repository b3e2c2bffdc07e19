package inventory_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/inventory"
	"mcpgateway/services/notify"
	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/credentials"
	"mcpgateway/services/upstream/pool"
	"mcpgateway/services/upstream/upstreamtest"
)

// liveWorld is a running syncer on a database with project p and its server s.
type liveWorld struct {
	*inventory.Syncer
	db      *gorm.DB
	pool    *pool.Pool
	stop    func() // ends Run and waits for it
	updated chan string
	listed  chan string
}

func startLive(t *testing.T, db *gorm.DB, url string) *liveWorld {
	t.Helper()
	w := &liveWorld{db: db, pool: newPool(t), updated: make(chan string, 16), listed: make(chan string, 16)}
	row := models.Server{
		ID: "s", ProjectID: "p", Alias: "jira", AliasFold: "jira", URL: url, Transport: models.TransportAuto, AuthType: models.UpstreamAuthNone,
		Enabled: true, TimeoutMS: 10_000, SessionMode: models.SessionShared, DefinitionPolicy: models.PolicyFollow, ConfigVersion: 1,
	}
	for _, record := range []any{&models.Project{ID: "p", Slug: "p", AuthMode: models.AuthNone, ToolExposure: models.ExposeFull}, &row} {
		if err := db.Create(record).Error; err != nil {
			t.Fatal(err)
		}
	}
	toTarget := func(row models.Server) *upstream.Target {
		return credentials.NewTarget(row, noSecrets{}, credentials.Rows{})
	}
	w.Syncer = inventory.NewSyncer(inventory.Options{
		DB: db, Pool: w.pool, Target: toTarget, Feed: &announced{}, Now: time.Now, Log: slog.New(slog.DiscardHandler),
		ResourceUpdated: func(serverID, uri string) { w.updated <- serverID + " " + uri },
		Listed:          func(projectID, _, method string) { w.listed <- projectID + " " + method },
	})
	if err := w.Plan(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.Run(ctx)
	}()
	w.stop = func() { cancel(); <-ended }
	t.Cleanup(w.stop)
	return w
}

func (w *liveWorld) edit(t *testing.T, fields map[string]any) {
	t.Helper()
	editServer(t, w.db, "s", fields)
	if err := w.Changed(t.Context(), notify.Toolset("p")); err != nil {
		t.Fatal(err)
	}
}

// awaitTools waits until exactly the named tools are stored.
func (w *liveWorld) awaitTools(t *testing.T, want ...string) {
	t.Helper()
	var names []string
	deadline := time.Now().Add(30 * time.Second)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for time.Now().Before(deadline) {
		names = nil
		if err := w.db.Model(&models.Tool{}).Where("server_id = ?", "s").Order("position").Pluck("name", &names).Error; err != nil {
			t.Fatal(err)
		}
		if slices.Equal(names, want) {
			return
		}
		<-tick.C
	}
	t.Fatalf("stored tools = %q, want %q", names, want)
}

func TestAnnouncedToolIsStored(t *testing.T) {
	for _, era := range upstreamtest.AllEras() {
		t.Run(string(era), func(t *testing.T) {
			t.Parallel()
			modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
				s := upstreamtest.New(upstreamtest.Options{Eras: []upstreamtest.Era{era}, Capabilities: everything, Tools: plainTools("a")})
				w := startLive(t, db, s.Start(t))
				w.awaitTools(t, "a")
				if err := s.WaitForStreams(testContext(t), 1); err != nil {
					t.Fatal("upstream is not watched")
				}
				s.SetTools(plainTools("a", "b")...)
				w.awaitTools(t, "a", "b")
				s.SetTools(plainTools("c")...)
				w.awaitTools(t, "c")
			})
		})
	}
}

// TestEqualListIsReported announces a list that did not change.
func TestEqualListIsReported(t *testing.T) {
	for _, era := range upstreamtest.AllEras() {
		t.Run(string(era), func(t *testing.T) {
			t.Parallel()
			modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
				s := upstreamtest.New(upstreamtest.Options{Eras: []upstreamtest.Era{era}, Capabilities: everything, Tools: plainTools("a")})
				w := startLive(t, db, s.Start(t))
				w.awaitTools(t, "a")
				if err := s.WaitForStreams(testContext(t), 1); err != nil {
					t.Fatal("watch has no stream")
				}
				s.Notify(upstream.PromptsListChanged, nil)
				select {
				case got := <-w.listed:
					if got != "p "+upstream.PromptsListChanged {
						t.Errorf("reported %q", got)
					}
				case <-time.After(30 * time.Second):
					t.Fatal("announced list without a change was not reported")
				}
			})
		})
	}
}

func TestOfficialServerAddsTool(t *testing.T) {
	for _, stateless := range []bool{false, true} {
		t.Run(fmt.Sprint("stateless ", stateless), func(t *testing.T) {
			modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
				sdk := mcp.NewServer(&mcp.Implementation{Name: "sdk", Version: "1"}, nil)
				mcp.AddTool(sdk, &mcp.Tool{Name: "echo"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
					return &mcp.CallToolResult{}, nil, nil
				})
				srv := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return sdk }, &mcp.StreamableHTTPOptions{Stateless: stateless}))
				defer srv.Close()
				w := startLive(t, db, srv.URL)
				defer w.pool.Close() // before the server's Close, which waits for streams
				w.awaitTools(t, "echo")
				add := func() {
					sdk.AddTool(&mcp.Tool{Name: "late", InputSchema: map[string]any{"type": "object"}}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
						return &mcp.CallToolResult{}, nil
					})
				}
				add() // the stream may open too late for it; then the initial sync finds it
				w.awaitTools(t, "echo", "late")
				w.stop()
			})
		})
	}
}

func TestRestartedUpstreamIsSynced(t *testing.T) {
	for _, era := range upstreamtest.AllEras() {
		t.Run(string(era), func(t *testing.T) {
			t.Parallel()
			first := upstreamtest.New(upstreamtest.Options{Eras: []upstreamtest.Era{era}, Tools: plainTools("a")})
			at, err := first.Listen(context.Background(), "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(first.Close)
			w := startLive(t, modelstest.Open(t, modelstest.SQLite(t)), at)
			w.awaitTools(t, "a")
			if err := first.WaitForStreams(testContext(t), 1); err != nil {
				t.Fatal("upstream is not watched")
			}
			first.Close()
			next := upstreamtest.New(upstreamtest.Options{Eras: []upstreamtest.Era{era}, Tools: plainTools("a", "new")})
			if err := retry(func() error { _, err := next.Listen(context.Background(), hostOf(at)); return err }); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(next.Close)
			w.awaitTools(t, "a", "new")
		})
	}
}

func TestOnlyEnabledServersAreWatched(t *testing.T) {
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		for _, era := range []upstreamtest.Era{upstreamtest.Era20251125, upstreamtest.Era20260728} {
			opts := upstreamtest.Options{Eras: []upstreamtest.Era{era}, Capabilities: everything, Tools: plainTools("a")}
			s, other := upstreamtest.New(opts), upstreamtest.New(opts)
			if err := db.Exec("DELETE FROM projects").Error; err != nil {
				t.Fatal(err)
			}
			w := startLive(t, db, s.Start(t))
			streams := func(s *upstreamtest.Server, n int) {
				t.Helper()
				if err := s.WaitForStreams(testContext(t), n); err != nil {
					t.Fatalf("%s: %d streams, want %d", era, s.Stats().Streams, n)
				}
			}
			streams(s, 1)
			w.edit(t, map[string]any{"url": other.Start(t), "config_version": 2})
			streams(other, 1)
			streams(s, 0)
			w.edit(t, map[string]any{"enabled": false, "config_version": 3})
			streams(other, 0)
			w.edit(t, map[string]any{"enabled": true, "config_version": 4})
			streams(other, 1)
			opened := func() (n int) {
				for _, r := range append(other.Requests(), other.Requests("subscriptions/listen")...) {
					if r.HTTPMethod == http.MethodGet || r.Method == "subscriptions/listen" {
						n++
					}
				}
				return n
			}
			before := opened()
			w.pool.Drop("s") // like a short disabling
			if err := other.Wait(testContext(t), func() bool { return opened() > before && other.Stats().Streams == 1 }); err != nil {
				t.Fatalf("%s: it is not watched again", era)
			}
			if err := db.Delete(&models.Server{}, "id = ?", "s").Error; err != nil {
				t.Fatal(err)
			}
			w.edit(t, map[string]any{"alias": "gone"})
			streams(other, 0)
			if err := other.Wait(testContext(t), func() bool { return other.Stats().Sessions == 0 }); err != nil {
				t.Errorf("%s: %d sessions with a deleted server", era, other.Stats().Sessions)
			}
			w.stop()
		}
	})
}

func TestResourceUpdatesAreForwarded(t *testing.T) {
	s := upstreamtest.New(upstreamtest.Options{Eras: []upstreamtest.Era{upstreamtest.Era20251125}, Capabilities: everything, Tools: upstreamtest.Standard(1)})
	w := startLive(t, modelstest.Open(t, modelstest.SQLite(t)), s.Start(t))
	w.awaitTools(t, "echo")
	if err := s.WaitForStreams(testContext(t), 1); err != nil {
		t.Fatal("upstream is not watched")
	}
	s.Notify(upstream.ResourceUpdated, nil) // without a URI
	s.Notify(upstream.ResourceUpdated, []byte(`{"uri":7}`))
	s.Notify(upstream.ResourceUpdated, []byte(`{"uri":"test://a"}`))
	select {
	case got := <-w.updated:
		if got != "s test://a" {
			t.Errorf("forwarded %q", got)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("update was not forwarded")
	}
}

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
