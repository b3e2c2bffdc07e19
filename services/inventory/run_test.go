package inventory_test

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/fault"
	"mcpgateway/services/inventory"
	"mcpgateway/services/notify"
	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/credentials"
	"mcpgateway/services/upstream/pool"
)

// lister is an upstream that counts the requests for its tools and can fail.
type lister struct {
	mu      sync.Mutex
	start   time.Time
	lists   []time.Duration // since start
	fails   bool
	down    bool          // rejects reachability checks
	options int           // number of reachability checks
	hold    chan struct{} // if not nil, a list waits for it
}

func (l *lister) set(edit func(*lister)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	edit(l)
}

// seen returns the times of the list requests after all goroutines are idle.
func (l *lister) seen() []time.Duration {
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.lists)
}

// checks returns the number of reachability checks.
func (l *lister) checks() int {
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.options
}

func (l *lister) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodOptions {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.options++
		status := http.StatusMethodNotAllowed
		if l.down {
			status = http.StatusServiceUnavailable
		}
		w.WriteHeader(status)
		return
	}
	m := received(r)
	switch m.Method {
	case "server/discover":
		writeJSON(w, `{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}}`)
	case "tools/list":
		l.mu.Lock()
		l.lists = append(l.lists, time.Since(l.start))
		fails, hold := l.fails, l.hold
		l.mu.Unlock()
		if hold != nil {
			select {
			case <-hold:
			case <-r.Context().Done():
				return
			}
		}
		if fails {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		writeJSON(w, `{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":{"resultType":"complete","tools":[{"name":"a","inputSchema":{}}],"ttlMs":0,"cacheScope":"private"}}`)
	}
}

// hosts passes each request to the handler of its host, in this process.
type hosts map[string]http.Handler

func (h hosts) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := inProcess{h[r.URL.Host]}.RoundTrip(r)
	if r.Context().Err() != nil {
		return nil, r.Context().Err()
	}
	return resp, err
}

// runWorld is a running syncer with virtual time and two upstreams.
type runWorld struct {
	*inventory.Syncer
	a, b *lister
	edit func(id string, fields map[string]any)
	stop func() // ends Run and waits for it

	inventory func(id string) models.Inventory
	programs  programs
}

func inVirtualTime(t *testing.T, failing bool, f func(t *testing.T, w *runWorld)) {
	t.Helper()
	dsn := modelstest.SQLite(t)
	synctest.Test(t, func(t *testing.T) {
		db := modelstest.Open(t, dsn)
		w := &runWorld{a: &lister{start: time.Now(), fails: failing}, b: &lister{start: time.Now()}}
		pool := pool.New(&http.Client{Transport: hosts{"a.example": w.a, "b.example": w.b}}, "1.2.3")
		defer pool.Close()
		if err := db.Create(&models.Project{ID: "p", Slug: "p", AuthMode: models.AuthNone, ToolExposure: models.ExposeFull}).Error; err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{"a", "b"} {
			row := models.Server{
				ID: id, ProjectID: "p", Alias: id, AliasFold: id, URL: "http://" + id + ".example/mcp", Transport: models.TransportStreamableHTTP, AuthType: models.UpstreamAuthNone,
				Enabled: id == "a", TimeoutMS: 60_000, SessionMode: models.SessionShared, DefinitionPolicy: models.PolicyFollow, ConfigVersion: 1,
			}
			if err := db.Create(&row).Error; err != nil {
				t.Fatal(err)
			}
		}
		target := func(row models.Server) *upstream.Target {
			return credentials.NewTarget(row, noSecrets{}, credentials.Rows{})
		}
		w.Syncer = inventory.NewSyncer(inventory.Options{DB: db, Pool: pool, Target: target, Feed: &announced{}, Programs: &w.programs, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
		w.edit = func(id string, fields map[string]any) {
			t.Helper()
			editServer(t, db, id, fields)
			if err := w.Changed(t.Context(), notify.Toolset("p")); err != nil {
				t.Fatal(err)
			}
		}
		w.inventory = func(id string) (row models.Inventory) {
			t.Helper()
			synctest.Wait()
			if err := db.First(&row, "server_id = ?", id).Error; err != nil {
				t.Fatal(err)
			}
			return row
		}
		if err := w.Plan(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			w.Run(ctx)
		}()
		w.stop = func() { cancel(); <-ended }
		defer w.stop()
		f(t, w)
	})
}

func TestRunSyncsImmediatelyAndAtInterval(t *testing.T) {
	inVirtualTime(t, false, func(t *testing.T, w *runWorld) {
		if got := w.a.seen(); !slices.Equal(got, []time.Duration{0}) {
			t.Errorf("listed at %v", got)
		}
		time.Sleep(24 * time.Hour)
		got := w.a.seen()
		for i := 1; i < len(got); i++ {
			if d := got[i] - got[i-1]; d < inventory.SyncInterval*9/10 || d > inventory.SyncInterval*11/10 {
				t.Errorf("listed again after %s", d)
			}
		}
		if len(got) < 87 || len(got) > 108 { // 24 h of 13.5 to 16.5 minutes
			t.Errorf("listed %d times", len(got))
		}
		if got := w.b.seen(); len(got) != 0 {
			t.Errorf("a disabled server was listed at %v", got)
		}
	})
}

func TestUnchangedSyncUpdatesHealth(t *testing.T) {
	inVirtualTime(t, false, func(t *testing.T, w *runWorld) {
		w.inventory("a") // waits until it is stored
		first := w.Health("a").Synced
		if d := time.Since(first); d != 0 {
			t.Errorf("synced %s ago", d)
		}
		w.a.set(func(l *lister) { l.fails = true })
		time.Sleep(time.Hour)
		if got := w.Health("a").Synced; !got.Equal(first) {
			t.Errorf("failure counts as a sync at %s", got)
		}
		w.a.set(func(l *lister) { l.fails = false })
		time.Sleep(time.Hour)
		last := w.inventory("a").SyncedAt
		if got := w.Health("a").Synced; last == nil || got.Sub(*last).Abs() > time.Millisecond || time.Since(got) > inventory.SyncInterval*11/10 {
			t.Errorf("synced at %s, stored was %v", got, last)
		}
		if got := w.Health("b").Synced; !got.IsZero() {
			t.Errorf("unknown server: synced at %s", got)
		}
	})
}

func TestRunRetriesWithBackoff(t *testing.T) {
	inVirtualTime(t, true, func(t *testing.T, w *runWorld) {
		time.Sleep(2 * time.Hour)
		got := w.a.seen()
		for i, want := range []time.Duration{15, 30, 60, 120, 240, 480, 900, 900} {
			if i+1 >= len(got) {
				t.Fatalf("listed only at %v", got)
			}
			if d := got[i+1] - got[i]; d < want*time.Second*9/10 || d > want*time.Second*11/10 {
				t.Errorf("retry %d after %s, want %d s ± 10 %%", i+1, d, want)
			}
		}
		w.a.set(func(l *lister) { l.fails = false })
		time.Sleep(inventory.SyncInterval * 11 / 10)
		before := len(w.a.seen())
		time.Sleep(inventory.SyncInterval * 8 / 10)
		if n := len(w.a.seen()) - before; n > 1 {
			t.Errorf("listed %d times within an interval after it recovered", n)
		}
	})
}

func TestRunFollowsConfiguration(t *testing.T) {
	inVirtualTime(t, false, func(t *testing.T, w *runWorld) {
		count := func(l *lister) int { return len(l.seen()) }
		if err := w.Changed(t.Context(), notify.Toolset("p")); err != nil || count(w.a) != 1 {
			t.Errorf("unrelated change: listed %d times, %v", count(w.a), err)
		}
		w.edit("a", map[string]any{"config_version": 2})
		if count(w.a) != 2 {
			t.Errorf("new configuration: listed %d times", count(w.a))
		}
		w.edit("b", map[string]any{"enabled": true, "config_version": 2})
		if count(w.b) != 1 || count(w.a) != 2 {
			t.Errorf("enabled server: listed %d times, the other %d", count(w.b), count(w.a))
		}
		w.edit("a", map[string]any{"enabled": false, "config_version": 3})
		time.Sleep(2 * time.Hour)
		if count(w.a) != 2 || count(w.b) < 6 {
			t.Errorf("disabled server: listed %d times, the other %d", count(w.a), count(w.b))
		}
		if err := w.Changed(t.Context(), notify.Keys("p")); err != nil {
			t.Errorf("other topic: %v", err)
		}
	})
}

func TestRunEndsWithContext(t *testing.T) {
	inVirtualTime(t, false, func(t *testing.T, w *runWorld) {
		synced := w.inventory("a")
		w.a.set(func(l *lister) { l.hold = make(chan struct{}) }) // lists no longer receive a response
		w.edit("a", map[string]any{"config_version": 2})
		result := make(chan error, 1)
		go func() {
			_, err := w.Sync(context.Background(), "b")
			result <- err
		}()
		w.b.set(func(l *lister) { l.hold = make(chan struct{}) })
		if n := len(w.a.seen()); n != 2 {
			t.Fatalf("listed %d times", n)
		}
		start := time.Now()
		w.stop() // while a scheduled and a requested sync are running
		if d := time.Since(start); d > time.Second {
			t.Errorf("Run took %s to return", d)
		}
		if err := <-result; err != nil && !fault.Is(err, fault.CodeUnavailable) {
			t.Errorf("requested sync: %v", err)
		}
		_, err := w.Sync(context.Background(), "a")
		wantFault(t, err, fault.CodeUnavailable, "shutting down")
		if d := cmp.Diff(synced, w.inventory("a")); d != "" {
			t.Errorf("shutdown was recorded as upstream failure (-want +got):\n%s", d)
		}
		time.Sleep(time.Hour)
		if n := len(w.a.seen()); n != 2 {
			t.Errorf("listed %d times after the end", n)
		}
	})
}

func TestPlanReturnsDatabaseError(t *testing.T) {
	inVirtualTime(t, false, func(t *testing.T, w *runWorld) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := w.Plan(ctx); err == nil {
			t.Error("Plan succeeded with a cancelled context")
		}
		time.Sleep(time.Hour)
		if n := len(w.a.seen()); n < 4 {
			t.Errorf("failed Plan removed a server: listed %d times", n)
		}
	})
}
