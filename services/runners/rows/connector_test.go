package rows_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/access/accesstest"
	"mcpgateway/services/declaration"
	"mcpgateway/services/fault"
	"mcpgateway/services/runners/rows"
	"mcpgateway/services/runners/wire"
)

func TestConnectorGetsServers(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.server(t, "Taken", models.SourceNone, "")
		peer := w.connector(t, "c", time.Hour)
		peer.Prefix = "laptop-"
		one := w.join(t)
		ids := one.listed(t, peer, "files", "memory")
		var row models.Server
		must(t, w.DB.First(&row, "id = ?", ids["files"]).Error)
		got := models.Server{
			ProjectID: row.ProjectID, Alias: row.Alias, Source: row.Source, Entry: row.Entry, ConnectorID: row.ConnectorID,
			DefinitionPolicy: row.DefinitionPolicy, SessionMode: row.SessionMode, Transport: row.Transport, Enabled: row.Enabled,
		}
		want := models.Server{
			ProjectID: "p", Alias: "laptop-files", Source: models.SourceConnector, Entry: "files", ConnectorID: "c",
			DefinitionPolicy: models.PolicyApprove, SessionMode: models.SessionShared, Transport: models.TransportAuto, Enabled: true,
		}
		if d := cmp.Diff(want, got); d != "" || row.ShownTransport() != models.TransportConnector {
			t.Errorf("server (-want +got):\n%s", d)
		}
		two := w.join(t)
		if d := cmp.Diff(ids, two.listed(t, peer, "files", "memory")); d != "" {
			t.Errorf("ids at another replica (-want +got):\n%s", d)
		}

		// The list is the same for every replica, so one is enough.
		two.listed(t, peer, "files")
		w.wantHidden(t, "one left the list", map[string]bool{"laptop-files": false, "laptop-memory": true, "Taken": false})
		two.listed(t, peer, "memory", "files")
		must(t, two.Gone(t.Context(), peer))
		must(t, one.Gone(t.Context(), peer))
		w.Advance(rows.Lifetime)
		must(t, one.Sweep(t.Context()))
		w.wantHidden(t, "the computer sleeps", map[string]bool{"laptop-files": false, "laptop-memory": false, "Taken": false})
		w.Advance(time.Hour)
		must(t, one.Sweep(t.Context()))
		w.wantHidden(t, "the token has expired", map[string]bool{"laptop-files": true, "laptop-memory": true, "Taken": false})
		if _, err := one.Listed(t.Context(), peer, list("files")); !fault.Is(err, fault.CodeNotFound) {
			t.Errorf("list of an expired connector: %v", err)
		}
	})
}

func TestTakenAliasesAreRefused(t *testing.T) {
	w := newWorld(t, modelstest.SQLite(t))
	w.server(t, "Files", models.SourceNone, "")
	first, second := w.connector(t, "c", time.Hour), w.connector(t, "d", 2*time.Hour)
	one := w.join(t)
	kept := one.listed(t, first, "memory")["memory"]
	l := list("files", "memory", "good", "bad name", "gateway", "no hash", "no mode")
	l.Servers[5].Hash, l.Servers[6].SessionMode = "", "each"
	ids, err := one.Listed(t.Context(), second, l)
	must(t, err)
	if len(ids) != 1 || ids["good"] == "" {
		t.Errorf("ids = %v", ids)
	}
	want := map[string]string{
		"files":    `the project already has a server "Files": rename this entry, or start the runner with --prefix`,
		"memory":   `the project already has a server "memory": rename this entry, or start the runner with --prefix`,
		"bad name": `"bad name" can't be an alias: use 1 to 64 letters, digits and inner hyphens, dots or underscores`,
		"gateway":  `"gateway" can't be an alias: this alias is reserved for recipes and the built-in tools`,
		"no hash":  "the runner sent no valid hash", "no mode": "the runner sent no valid session mode",
	}
	if d := cmp.Diff(want, one.refused["d"]); d != "" {
		t.Errorf("refused (-want +got):\n%s", d)
	}
	one.refused = map[string]map[string]string{}
	if _, err := one.Listed(t.Context(), second, l); err != nil || len(one.refused["d"]) != len(want) {
		t.Errorf("an equal list is answered with %v, %v", one.refused["d"], err)
	}

	if _, err := one.Listed(t.Context(), second, list("good", "good")); !fault.Is(err, fault.CodeValidationFailed) {
		t.Errorf("list with equal names: %v", err)
	}

	// After the first connector has expired, the second one can have its server.
	w.Advance(time.Hour)
	if got := one.listed(t, second, "memory", "good")["memory"]; got != kept {
		t.Errorf("server = %q, want %q", got, kept)
	}
	w.wantHidden(t, "taken over", map[string]bool{"Files": false, "memory": false, "good": false})
	if len(one.refused["d"]) != 0 {
		t.Errorf("refused %v", one.refused["d"])
	}
}

func TestSessionModeComesFromTheList(t *testing.T) {
	w := newWorld(t, modelstest.SQLite(t))
	peer := w.connector(t, "c", time.Hour)
	one := w.join(t)
	id := one.listed(t, peer, "files")["files"]
	l := list("files")
	l.Servers[0].SessionMode = string(models.SessionPerClient)
	if _, err := one.Listed(t.Context(), peer, l); err != nil {
		t.Fatal(err)
	}
	var row models.Server
	must(t, w.DB.First(&row, "id = ?", id).Error)
	if row.SessionMode != models.SessionPerClient || row.ConfigVersion != 2 {
		t.Errorf("mode %s, version %d", row.SessionMode, row.ConfigVersion)
	}
}

func TestLimitsOfConnectors(t *testing.T) {
	w := newWorld(t, modelstest.SQLite(t))
	peer := w.connector(t, "c", time.Hour)
	one := w.join(t)
	names := func(n int) (all []string) {
		for i := range n {
			all = append(all, fmt.Sprint("s", i))
		}
		return all
	}
	for n, refused := range map[int]bool{wire.MaxServers - 1: false, wire.MaxServers: false, wire.MaxServers + 1: true} {
		ids, err := one.Listed(t.Context(), peer, list(names(n)...))
		if fault.Is(err, fault.CodeValidationFailed) != refused || !refused && len(ids) != n {
			t.Errorf("list of %d programs: %d servers, %v", n, len(ids), err)
		}
	}
	// The project is full now.
	create(t, w.DB, &models.Connector{ID: "d", ProjectID: "p", Name: "d", Hash: accesstest.SHA256("d"), ExpiresAt: w.Now().Add(time.Hour)})
	other := peer
	other.ConnectorID, other.Prefix = "d", "d-"
	must(t, w.DB.Delete(&models.Server{}, "alias = ?", "s0").Error)
	if got := len(one.listed(t, other, "a", "b")); got != 1 {
		t.Errorf("%d servers were added to a project with %d, want 1", got, declaration.MaxServers-1)
	}
	if why := one.refused["d"]["b"]; why != "the project has the maximum of 200 servers" {
		t.Errorf("refused: %q", why)
	}
}
