package toolset_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/egress"
	"mcpgateway/services/fault"
	"mcpgateway/services/inventory"
	"mcpgateway/services/notify"
	"mcpgateway/services/secrets"
	"mcpgateway/services/toolset"
	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/credentials"
	"mcpgateway/services/upstream/pool"
	"mcpgateway/services/upstream/upstreamtest"
)

// world is a gateway process with project p, whose servers are all the same
// upstream.
type world struct {
	*toolset.Directory
	db     *gorm.DB
	feed   *notify.Feed
	syncer *inventory.Syncer
	up     *upstreamtest.Server
	url    string

	rows    atomic.Int64 // rows read from the database
	targets atomic.Int64 // targets created by the directory
}

type noSecrets struct{}

func (noSecrets) Resolve(string, string) (secrets.Value, error) { return secrets.Value{}, nil }

func newWorld(t *testing.T, dsn string, servers, tools int) *world {
	t.Helper()
	w := &world{db: modelstest.Open(t, dsn), up: upstreamtest.New(upstreamtest.Options{Tools: upstreamtest.Standard(tools)})}
	count := func(tx *gorm.DB) { w.rows.Add(tx.RowsAffected) }
	if err := w.db.Callback().Query().After("gorm:query").Register("count", count); err != nil {
		t.Fatal(err)
	}
	w.url = w.up.Start(t)
	if err := w.db.Create(&models.Project{ID: "p", Slug: "p", AuthMode: models.AuthNone, ToolExposure: models.ExposeFull}).Error; err != nil {
		t.Fatal(err)
	}
	for n := range servers {
		w.addServer(t, w.db, fmt.Sprintf("s%d", n))
	}
	w.change(t, nil)
	w.Directory = toolset.NewDirectory(w.db, w.target)
	var err error
	if w.feed, err = notify.NewFeed(w.db, dsn, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	clients := egress.NewClients(egress.NewGuard(egress.DefaultAllow(true)))
	pool := pool.New(clients.MCP(), "1")
	t.Cleanup(func() { pool.Close(); clients.Close() })
	w.syncer = inventory.NewSyncer(inventory.Options{DB: w.db, Pool: pool, Target: newTarget, Feed: w.feed, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	w.feed.Subscribe(w.Changed)
	w.feed.Subscribe(w.syncer.Changed)
	if err := w.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	return w
}

func newTarget(row models.Server) *upstream.Target {
	return credentials.NewTarget(row, noSecrets{}, credentials.Rows{})
}

func (w *world) target(row models.Server) *upstream.Target {
	w.targets.Add(1)
	return newTarget(row)
}

func (w *world) addServer(t *testing.T, tx *gorm.DB, id string) {
	t.Helper()
	row := models.Server{
		ID: id, ProjectID: "p", Alias: id, AliasFold: id, URL: w.url, Transport: models.TransportStreamableHTTP, AuthType: models.UpstreamAuthNone,
		Enabled: true, TimeoutMS: 10_000, SessionMode: models.SessionShared, DefinitionPolicy: models.PolicyFollow, ConfigVersion: 1,
	}
	if err := tx.Create(&row).Error; err != nil {
		t.Fatal(err)
	}
}

// change commits a configuration change.
func (w *world) change(t *testing.T, edit func(tx *gorm.DB) error) {
	t.Helper()
	err := w.db.Transaction(func(tx *gorm.DB) error {
		if edit != nil {
			if err := edit(tx); err != nil {
				return err
			}
		}
		return notify.Touch(tx, notify.Toolset("p"))
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (w *world) publish(t *testing.T) {
	t.Helper()
	if err := w.feed.Publish(t.Context(), notify.Toolset("p")); err != nil {
		t.Fatal(err)
	}
}

func (w *world) sync(t *testing.T, id string) {
	t.Helper()
	if _, err := w.syncer.Sync(t.Context(), id); err != nil {
		t.Fatal(err)
	}
}

func (w *world) project(t *testing.T) *toolset.Snapshot {
	t.Helper()
	s, err := w.Project("p")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestSyncCostIsLinear counts the rows read for the
// first syncs of n servers, which was n times all of them.
func TestSyncCostIsLinear(t *testing.T) {
	t.Parallel()
	const tools = 20
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		rows := func(dsn string, servers int) int64 {
			w := newWorld(t, dsn, servers, tools)
			w.publish(t) // like the first load of the configuration
			w.rows.Store(0)
			w.targets.Store(0)
			for n := range servers {
				before := w.project(t)
				id := fmt.Sprintf("s%d", n)
				w.sync(t, id)
				after := w.project(t)
				if _, err := after.Resolve(id + "__echo"); err != nil || len(after.Tools) != (n+1)*tools {
					t.Fatalf("the snapshot lacks the result of a sync: %d tools, %v", len(after.Tools), err)
				}
				for i, server := range before.Servers {
					if server.Config.ID != id && after.Servers[i] != server {
						t.Errorf("%s was reloaded for %s", server.Config.ID, id)
					}
				}
			}
			if n := w.targets.Load(); n != 0 {
				t.Errorf("%d configurations were loaded", n)
			}
			return w.rows.Load()
		}
		another := modelstest.SQLite
		if strings.HasPrefix(dsn, "postgres") {
			another = modelstest.Postgres
		}
		const servers = 8
		few, many := rows(dsn, servers), rows(another(t), 2*servers)
		if many > 2*few+servers { // the first sync of a process reads a little less
			t.Errorf("%d rows read for %d servers and %d for twice as many", few, servers, many)
		}
		if most := int64(servers * (tools + 20)); few > most {
			t.Errorf("%d rows read for %d tools, want at most %d", few, servers*tools, most)
		}
	})
}

// TestDirectoryMatchesDatabase applies changes of all kinds in random order,
// some of them unpublished, and compares with a new directory.
func TestDirectoryMatchesDatabase(t *testing.T) {
	t.Parallel()
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		w := newWorld(t, dsn, 3, 4)
		random := rand.New(rand.NewPCG(1, 2))
		added := 3
		ids := func() []string {
			var all []string
			if err := w.db.Model(&models.Server{}).Order("id").Pluck("id", &all).Error; err != nil {
				t.Fatal(err)
			}
			return all
		}
		server := func(edit map[string]any) func() {
			return func() {
				all := ids()
				id := all[random.IntN(len(all))]
				w.change(t, func(tx *gorm.DB) error { return tx.Model(&models.Server{}).Where("id = ?", id).Updates(edit).Error })
			}
		}
		steps := map[string]func(){
			"a sync": func() {
				all := ids()
				w.up.SetTools(upstreamtest.Standard(1 + random.IntN(5))...)
				w.sync(t, all[random.IntN(len(all))])
			},
			"a sync by another process": func() {
				all := ids()
				id := all[random.IntN(len(all))]
				err := w.db.Transaction(func(tx *gorm.DB) error {
					name := fmt.Sprintf("other_%d", random.IntN(3))
					row := models.Tool{ServerID: id, Name: name, Position: 9, Definition: fmt.Sprintf(`{"name":%q}`, name), DefinitionHash: "h", FirstSeenAt: time.Now(), ChangedAt: time.Now()}
					if err := tx.Save(&row).Error; err != nil {
						return err
					}
					return notify.TouchInventory(tx, "p", id)
				})
				if err != nil {
					t.Fatal(err)
				}
			},
			"a new server": func() {
				id := fmt.Sprintf("s%d", added)
				added++
				w.change(t, func(tx *gorm.DB) error { w.addServer(t, tx, id); return nil })
			},
			"a deleted server": func() {
				if all := ids(); len(all) > 2 {
					w.change(t, func(tx *gorm.DB) error {
						return tx.Delete(&models.Server{}, "id = ?", all[random.IntN(len(all))]).Error
					})
				}
			},
			"a filter":          server(map[string]any{"deny_tools": models.StringList{"echo"}}),
			"no filter":         server(map[string]any{"deny_tools": models.StringList{}}),
			"a disabled server": server(map[string]any{"enabled": false}),
			"an enabled server": server(map[string]any{"enabled": true}),
			"a name limit": func() {
				w.change(t, func(tx *gorm.DB) error {
					return tx.Model(&models.Project{}).Where("id = ?", "p").Update("tool_name_limit", 32*random.IntN(2)).Error
				})
			},
		}
		names := make([]string, 0, len(steps))
		for name := range steps {
			names = append(names, name)
		}
		slices.Sort(names)
		for i := range 40 {
			name := names[random.IntN(len(names))]
			steps[name]()
			if random.IntN(3) == 0 {
				continue // the next update covers several changes
			}
			w.publish(t)
			fresh := toolset.NewDirectory(w.db, newTarget)
			if err := fresh.Load(t.Context()); err != nil {
				t.Fatal(err)
			}
			want, err := fresh.Project("p")
			if err != nil {
				t.Fatal(err)
			}
			got := w.project(t)
			ignored := cmp.Options{cmpopts.IgnoreTypes(upstream.Forwarding{}), cmpopts.IgnoreUnexported(upstream.Target{}, toolset.Tool{}), cmpopts.IgnoreFields(upstream.Target{}, "Headers", "Refused"), cmpopts.IgnoreFields(models.Inventory{}, "SyncedAt", "AttemptedAt")}
			if d := cmp.Diff(want.AllTools(), got.AllTools(), ignored); d != "" {
				t.Fatalf("step %d, %s (-want +got):\n%s", i, name, d)
			}
			if d := cmp.Diff(want.Servers, got.Servers, ignored); d != "" {
				t.Fatalf("step %d, %s (-want +got):\n%s", i, name, d)
			}
			if got.ToolsHash() != want.ToolsHash() {
				t.Fatalf("step %d, %s: different list hash", i, name)
			}
		}
	})
}

func TestDirectoryDropsDeletedProjects(t *testing.T) {
	t.Parallel()
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		w := newWorld(t, dsn, 1, 1)
		w.sync(t, "s0")
		kept := w.project(t)
		if err := w.Changed(t.Context(), notify.Toolset("p")); err != nil || w.project(t) != kept {
			t.Errorf("a current snapshot was reloaded (%v)", err)
		}
		if err := w.Changed(t.Context(), notify.Keys("p")); err != nil || w.project(t) != kept {
			t.Errorf("another topic changed the directory (%v)", err)
		}
		w.change(t, func(tx *gorm.DB) error {
			return tx.Model(&models.Project{}).Where("id = ?", "p").Update("slug", "q").Error
		})
		w.publish(t)
		if _, err := w.Project("p"); !fault.Is(err, fault.CodeNotFound) {
			t.Errorf("Project(old slug): %v", err)
		}
		if s, err := w.Project("q"); err != nil || len(s.Tools) != 1 {
			t.Errorf("Project(new slug): %v", err)
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		w.change(t, func(tx *gorm.DB) error { return tx.Delete(&models.Project{}, "id = ?", "p").Error })
		if err := w.Changed(gone, notify.Toolset("p")); err == nil || w.ProjectByID("p") == nil {
			t.Errorf("a failed load was stored (%v)", err)
		}
		w.publish(t)
		if _, err := w.Project("q"); !fault.Is(err, fault.CodeNotFound) || w.ProjectByID("p") != nil || len(w.All()) != 0 {
			t.Errorf("Project() of a deleted project: %v", err)
		}
	})
}
