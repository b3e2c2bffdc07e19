package inventory_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/fault"
	"mcpgateway/services/inventory"
	"mcpgateway/services/locks"
	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/credentials"
	"mcpgateway/services/upstream/pool"
)

// storeServer stores project p with its server s at the URL.
func storeServer(t *testing.T, db *gorm.DB, url string) {
	t.Helper()
	row := models.Server{
		ID: "s", ProjectID: "p", Alias: "s", AliasFold: "s", URL: url, Transport: models.TransportStreamableHTTP, AuthType: models.UpstreamAuthNone,
		Enabled: true, TimeoutMS: 60_000, SessionMode: models.SessionShared, DefinitionPolicy: models.PolicyFollow, ConfigVersion: 1,
	}
	for _, record := range []any{&models.Project{ID: "p", Slug: "p", AuthMode: models.AuthNone, ToolExposure: models.ExposeFull}, &row} {
		if err := db.Create(record).Error; err != nil {
			t.Fatal(err)
		}
	}
}

func replica(db *gorm.DB, pool *pool.Pool, l inventory.Locks) *inventory.Syncer {
	target := func(row models.Server) *upstream.Target {
		return credentials.NewTarget(row, noSecrets{}, credentials.Rows{})
	}
	return inventory.NewSyncer(inventory.Options{
		DB: db, Pool: pool, Target: target, Feed: &announced{}, Locks: l, Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
}

// TestReplicasShareSyncs runs three replicas for a day.
func TestReplicasShareSyncs(t *testing.T) {
	for _, failing := range []bool{false, true} {
		dsn := modelstest.SQLite(t)
		synctest.Test(t, func(t *testing.T) {
			db := modelstest.Open(t, dsn)
			shared, err := locks.Open(t.Context(), db, dsn, nil)
			if err != nil {
				t.Fatal(err)
			}
			storeServer(t, db, "http://s.example/mcp")
			up := &lister{start: time.Now(), fails: failing}
			slow := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				time.Sleep(time.Second)
				up.ServeHTTP(w, r)
			})
			ctx, cancel := context.WithCancel(t.Context())
			var running sync.WaitGroup
			defer running.Wait()
			defer cancel()
			for range 3 {
				pool := pool.New(&http.Client{Transport: hosts{"s.example": slow}}, "1")
				s := replica(db, pool, shared)
				if err := s.Plan(ctx); err != nil {
					t.Fatal(err)
				}
				running.Go(func() { s.Run(ctx); pool.Close() })
			}
			time.Sleep(10 * time.Second)
			if n := len(up.seen()); n != 1 {
				t.Errorf("failing %v: listed %d times at the start", failing, n)
			}
			time.Sleep(24 * time.Hour)
			if n := len(up.seen()); n < 80 || n > 120 { // at most every 15 minutes, minus jitter
				t.Errorf("failing %v: listed %d times", failing, n)
			}
		})
	}
}

func TestRequestedSyncWaitsForLock(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		db := modelstest.Open(t, dsn)
		up := &lister{start: time.Now()}
		var inside, most atomic.Int64
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			most.Store(max(most.Load(), inside.Add(1)))
			defer inside.Add(-1)
			up.ServeHTTP(w, r)
		}))
		defer srv.Close()
		storeServer(t, db, srv.URL)
		var shared *locks.Locks
		var all sync.WaitGroup
		for range 3 {
			if shared == nil || strings.HasPrefix(dsn, "postgres") { // each replica has its own connection
				l, err := locks.Open(t.Context(), db, dsn, nil)
				if err != nil {
					t.Fatal(err)
				}
				defer l.Close()
				shared = l
			}
			s := replica(db, newPool(t), shared)
			all.Go(func() {
				for range 3 {
					if r, err := s.Sync(testContext(t), "s"); err != nil || r.Total != 1 {
						t.Errorf("got %d tools: %v", r.Total, err)
					}
				}
			})
		}
		all.Wait()
		if n := len(up.lists); n != 9 || most.Load() != 1 {
			t.Errorf("listed %d times, up to %d concurrently", n, most.Load())
		}
	})
}

// busy are locks that another replica never releases, or that are not
// available.
type busy struct{ err error }

func (b busy) Hold(ctx context.Context, _ string, _ bool, _ func(context.Context) error) (bool, error) {
	if b.err != nil {
		return false, b.err
	}
	<-ctx.Done()
	return false, ctx.Err()
}

func TestSyncLockTimeout(t *testing.T) {
	for _, c := range []struct {
		locks busy
		code  fault.Code
		took  time.Duration
	}{{busy{}, fault.CodeUnavailable, 25 * time.Second}, {busy{errors.New("the database is gone")}, fault.CodeInternal, 0}} {
		dsn := modelstest.SQLite(t)
		synctest.Test(t, func(t *testing.T) {
			db := modelstest.Open(t, dsn)
			storeServer(t, db, "http://s.example/mcp")
			up := &lister{start: time.Now()}
			pool := pool.New(&http.Client{Transport: hosts{"s.example": up}}, "1")
			defer pool.Close()
			began := time.Now()
			_, err := replica(db, pool, c.locks).Sync(t.Context(), "s")
			if !fault.Is(err, c.code) || time.Since(began) != c.took || len(up.seen()) != 0 {
				t.Errorf("after %s, with %d lists: %v", time.Since(began), len(up.seen()), err)
			}
		})
	}
}
