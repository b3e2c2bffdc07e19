package notify_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/notify"
)

// storeProject stores a project with servers.
func storeProject(t *testing.T, db *gorm.DB, id string, servers ...string) {
	t.Helper()
	if err := db.Create(&models.Project{ID: id, Slug: id, AuthMode: models.AuthNone, ToolExposure: models.ExposeFull}).Error; err != nil {
		t.Fatal(err)
	}
	for _, server := range servers {
		row := models.Server{
			ID: server, ProjectID: id, Alias: server, AliasFold: server, URL: "http://127.0.0.1/mcp", Transport: models.TransportAuto, AuthType: models.UpstreamAuthNone,
			Enabled: true, TimeoutMS: 1000, SessionMode: models.SessionShared, DefinitionPolicy: models.PolicyFollow, ConfigVersion: 1,
		}
		if err := db.Create(&row).Error; err != nil {
			t.Fatal(err)
		}
	}
}

func TestSyncChangesAreDistinguished(t *testing.T) {
	t.Parallel()
	synced := func(server string) func(*gorm.DB) error {
		return func(tx *gorm.DB) error { return notify.TouchInventory(tx, "p", server) }
	}
	configured := func(tx *gorm.DB) error { return notify.Touch(tx, notify.Toolset("p")) }
	elsewhere := func(tx *gorm.DB) error { return notify.TouchInventory(tx, "q", "q1") }
	deleted := func(tx *gorm.DB) error {
		return errors.Join(tx.Delete(&models.Server{}, "id = ?", "p1").Error, configured(tx))
	}
	for _, tc := range []struct {
		name    string
		changes []func(*gorm.DB) error
		since   int64
		want    notify.ToolsetChanges
	}{
		{"no change", nil, 0, notify.ToolsetChanges{}},
		{"no change since", []func(*gorm.DB) error{synced("p1")}, 1, notify.ToolsetChanges{Revision: 1, OnlySyncs: true}},
		{"unknown revision", []func(*gorm.DB) error{synced("p1")}, 0, notify.ToolsetChanges{Revision: 1}},
		{"later revision", []func(*gorm.DB) error{synced("p1")}, 2, notify.ToolsetChanges{Revision: 1}},
		{"sync", []func(*gorm.DB) error{configured, synced("p1")}, 1, notify.ToolsetChanges{Revision: 2, OnlySyncs: true, Servers: []string{"p1"}}},
		{"two syncs", []func(*gorm.DB) error{configured, synced("p2"), synced("p1")}, 1, notify.ToolsetChanges{Revision: 3, OnlySyncs: true, Servers: []string{"p2", "p1"}}},
		{"second of two", []func(*gorm.DB) error{configured, synced("p2"), synced("p1")}, 2, notify.ToolsetChanges{Revision: 3, OnlySyncs: true, Servers: []string{"p1"}}},
		{"syncs in other projects", []func(*gorm.DB) error{configured, elsewhere, elsewhere, synced("p1")}, 1, notify.ToolsetChanges{Revision: 2, OnlySyncs: true, Servers: []string{"p1"}}},
		{"two syncs of one server", []func(*gorm.DB) error{configured, synced("p1"), synced("p1")}, 1, notify.ToolsetChanges{Revision: 3, Servers: []string{"p1"}}},
		{"setting", []func(*gorm.DB) error{synced("p1"), configured}, 1, notify.ToolsetChanges{Revision: 2}},
		{"sync and setting", []func(*gorm.DB) error{configured, synced("p1"), configured}, 1, notify.ToolsetChanges{Revision: 3, Servers: []string{"p1"}}},
		{"setting and sync", []func(*gorm.DB) error{configured, configured, synced("p1")}, 1, notify.ToolsetChanges{Revision: 3, Servers: []string{"p1"}}},
		{"setting before the revision", []func(*gorm.DB) error{configured, configured, synced("p1")}, 2, notify.ToolsetChanges{Revision: 3, OnlySyncs: true, Servers: []string{"p1"}}},
		{"deleted server", []func(*gorm.DB) error{configured, synced("p2"), synced("p1"), deleted}, 2, notify.ToolsetChanges{Revision: 4}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
				storeProject(t, db, "p", "p1", "p2")
				storeProject(t, db, "q", "q1")
				for _, change := range tc.changes {
					if err := db.Transaction(change); err != nil {
						t.Fatal(err)
					}
				}
				got, err := notify.ChangesSince(db, "p", tc.since)
				if err != nil {
					t.Fatal(err)
				}
				if !got.OnlySyncs {
					got.Servers, tc.want.Servers = nil, nil // undefined in this case
				}
				if len(got.Servers) == 0 {
					got.Servers = nil
				}
				if d := cmp.Diff(tc.want, got); d != "" {
					t.Errorf("-want +got:\n%s", d)
				}
			})
		})
	}
}

func TestRolledBackSyncIsNotAChange(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		storeProject(t, db, "p", "s")
		if err := notify.Touch(db, notify.Toolset("p")); err != nil {
			t.Fatal(err)
		}
		stop := errors.New("stop")
		err := db.Transaction(func(tx *gorm.DB) error { return errors.Join(notify.TouchInventory(tx, "p", "s"), stop) })
		if !errors.Is(err, stop) {
			t.Fatal(err)
		}
		got, err := notify.ChangesSince(db, "p", 1)
		if err != nil || got.Revision != 1 || !got.OnlySyncs || len(got.Servers) != 0 {
			t.Errorf("got %+v, %v", got, err)
		}
	})
}

func TestConfigurationsIgnoreSyncs(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		storeProject(t, db, "p", "s")
		var c notify.ConfigFilter
		failure := errors.New("it failed")
		acted := 0
		act := func(fails bool) error {
			return c.Act(t.Context(), db, "p", func(context.Context) error {
				acted++
				if fails {
					return failure
				}
				return nil
			})
		}
		for i, step := range []struct {
			change func(*gorm.DB) error
			fails  bool
			acted  int
		}{
			{nil, false, 1}, // never touched
			{func(tx *gorm.DB) error { return notify.Touch(tx, notify.Toolset("p")) }, false, 2},
			{nil, false, 2},
			{func(tx *gorm.DB) error { return notify.TouchInventory(tx, "p", "s") }, false, 2},
			{func(tx *gorm.DB) error { return notify.Touch(tx, notify.Toolset("p")) }, true, 3},
			{nil, true, 4},
			{func(tx *gorm.DB) error { return notify.TouchInventory(tx, "p", "s") }, false, 5},
			{nil, false, 5},
		} {
			if step.change != nil {
				if err := db.Transaction(step.change); err != nil {
					t.Fatal(err)
				}
			}
			if err := act(step.fails); step.acted != acted || step.fails != errors.Is(err, failure) {
				t.Errorf("step %d: %d calls, %v", i, acted, err)
			}
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if err := c.Act(gone, db, "p", func(context.Context) error { return nil }); err == nil {
			t.Error("Act succeeded with a cancelled context")
		}
	})
}

// TestFirstActProcessesAllProjects checks that syncs of other projects are ignored
// after the first call, and that the changes of others and of new projects are not.
func TestFirstActProcessesAllProjects(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		storeProject(t, db, "p", "p1")
		storeProject(t, db, "q", "q1")
		if err := notify.Touch(db, notify.Toolset("p"), notify.Toolset("q")); err != nil {
			t.Fatal(err)
		}
		var c notify.ConfigFilter
		for i, step := range []struct {
			change  func(*gorm.DB) error
			project string
			acts    bool
		}{
			{nil, "p", true},
			{nil, "q", false},
			{func(tx *gorm.DB) error { return notify.TouchInventory(tx, "q", "q1") }, "q", false},
			{func(tx *gorm.DB) error { return notify.Touch(tx, notify.Toolset("q")) }, "q", true},
			{func(tx *gorm.DB) error { return notify.Touch(tx, notify.Toolset("new")) }, "new", true},
			{nil, "new", false},
		} {
			if step.change != nil {
				if err := db.Transaction(step.change); err != nil {
					t.Fatal(err)
				}
			}
			acted := false
			if err := c.Act(t.Context(), db, step.project, func(context.Context) error { acted = true; return nil }); err != nil || acted != step.acts {
				t.Errorf("step %d: acted = %t, %v", i, acted, err)
			}
		}
	})
}
