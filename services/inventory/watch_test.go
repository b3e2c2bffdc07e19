package inventory_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
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
