package catalog_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/activity"
	"mcpgateway/services/catalog"
	"mcpgateway/services/fault"
)

func TestAdminDecisionsSurviveImports(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		w := only(t, dsn)
		ctx := activity.WithActor(t.Context(), activity.Actor{Kind: activity.ActorUser, ID: "u1", Name: "Ada"})
		id := func(publisher, server string) string {
			e, err := w.catalog.EntryByName(publisher, server)
			if err != nil {
				t.Fatal(err)
			}
			return e.ID
		}
		forge, hub, notes, legit := id("gitea", "forge"), id("acme", "github"), id("beta", "notes"), id("beta", "legit")
		title := "  Hub\u202e  of Acme "
		tags := []string{"Code", "code", ""}
		for name, err := range map[string]error{
			"feature":  w.store.SetFeatured(ctx, forge, true),
			"verify":   w.store.SetVerified(ctx, forge, true, "seen on their page"),
			"edit":     w.store.Edit(ctx, hub, catalog.Edit{ServerTitle: &title, Tags: &tags}),
			"hide":     w.store.SetHidden(ctx, notes, true),
			"unverify": w.store.SetVerified(ctx, legit, false, "ignored"),
		} {
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if got := len(w.audited(t)); got != 6 { // including the import
			t.Errorf("%d audited changes, want 6", got)
		}
		var actors []string
		if err := w.db.Model(&models.AuditEntry{}).Where("seq > 1").Distinct().Pluck("actor_name", &actors).Error; err != nil || len(actors) != 1 || actors[0] != "Ada" {
			t.Errorf("audit actor = %v (%v)", actors, err)
		}
		before := w.revision(t)
		for name, err := range map[string]error{
			"feature": w.store.SetFeatured(ctx, forge, true),
			"hide":    w.store.SetHidden(ctx, notes, true),
		} {
			if err != nil || w.revision(t) != before {
				t.Errorf("%s again: %v", name, err)
			}
		}
		changed := strings.NewReplacer(`"Forge"`, `"The Forge"`, `"GitHub"`, `"GH"`, `"My Git Notes"`, `"Notes"`, `"Legit Scan"`, `"Legit"`).Replace(rows)
		plan := w.importFile(t, changed)
		if plan.Updated != 3 || plan.Locked != 1 {
			t.Errorf("import plan = %+v", plan)
		}
		e, err := w.catalog.Entry(forge)
		if err != nil || e.ServerTitle != "The Forge" || !e.Featured || !e.Verified || e.VerifiedEvidence != "seen on their page" {
			t.Errorf("forge = %+v (%v)", e, err)
		}
		if e, err = w.catalog.Entry(hub); err != nil || e.ServerTitle != "Hub of Acme" || len(e.Tags) != 1 || !e.Locked {
			t.Errorf("github = %+v (%v)", e, err)
		}
		if e, err = w.catalog.Entry(legit); err != nil || e.Verified || e.VerifiedEvidence != "" || e.ServerTitle != "Legit" {
			t.Errorf("legit = %+v (%v)", e, err)
		}
		if _, err = w.catalog.Entry(notes); !fault.Is(err, fault.CodeNotFound) {
			t.Errorf("notes is still listed (%v)", err)
		}
		if row, err := w.store.Entry(ctx, notes); err != nil || row.ServerTitle != "Notes" || !row.Hidden {
			t.Errorf("stored notes = %+v (%v)", row, err)
		}
		curated, err := w.store.Curated(ctx)
		if err != nil || len(curated) != 4 {
			t.Errorf("%d curated rows (%v)", len(curated), err)
		}
		if err := w.store.Unlock(ctx, hub); err != nil {
			t.Fatal(err)
		}
		if plan := w.importFile(t, changed); plan.Updated != 1 || plan.Locked != 0 {
			t.Errorf("import plan after Unlock = %+v", plan)
		}
		if e, err = w.catalog.Entry(hub); err != nil || e.ServerTitle != "GH" || e.Locked {
			t.Errorf("github = %+v (%v)", e, err)
		}
		if featured := names(w.entries(t, "featured:true").Rows); featured != "acme/git gitea/forge" {
			t.Errorf("featured entries = %s", featured)
		}
	})
}

func TestUnlockRestoresBuiltInRow(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		e := w.catalog.AllEntries()[0]
		title := "Other"
		if err := w.store.Edit(t.Context(), e.ID, catalog.Edit{ServerTitle: &title}); err != nil {
			t.Fatal(err)
		}
		if err := w.store.SetFeatured(t.Context(), e.ID, false); err != nil {
			t.Fatal(err)
		}
		if err := w.store.Unlock(t.Context(), e.ID); err != nil {
			t.Fatal(err)
		}
		back, err := w.catalog.Entry(e.ID)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(catalog.NewLegacyItem(e), catalog.NewLegacyItem(back)); diff != "" {
			t.Errorf("(-before +after):\n%s", diff)
		}
	})
}

func TestInvalidAdminDecisions(t *testing.T) {
	w := onSQLite(t)
	ctx, id := t.Context(), w.catalog.AllEntries()[0].ID
	empty, script, ftp := " \u200b", "javascript:alert(1)", "http://example.com/icon.png"
	long, many, longTag := strings.Repeat("x", 1001), make([]string, 31), []string{strings.Repeat("x", 51)}
	for i := range many {
		many[i] = strconv.Itoa(i)
	}
	for name, tc := range map[string]struct {
		err  error
		code fault.Code
	}{
		"unknown row":           {w.store.SetFeatured(ctx, "unknown", true), fault.CodeNotFound},
		"unknown row to verify": {w.store.Unlock(ctx, "unknown"), fault.CodeNotFound},
		"without evidence":      {w.store.SetVerified(ctx, id, true, " "), fault.CodeValidationFailed},
		"empty title":           {w.store.Edit(ctx, id, catalog.Edit{ServerTitle: &empty}), fault.CodeValidationFailed},
		"script URL":            {w.store.Edit(ctx, id, catalog.Edit{WebsiteURL: &script}), fault.CodeValidationFailed},
		"http icon":             {w.store.Edit(ctx, id, catalog.Edit{IconURL: &ftp}), fault.CodeValidationFailed},
		"31 tags":               {w.store.Edit(ctx, id, catalog.Edit{Tags: &many}), fault.CodeValidationFailed},
		"long tag":              {w.store.Edit(ctx, id, catalog.Edit{Tags: &longTag}), fault.CodeValidationFailed},
		"long description":      {w.store.Edit(ctx, id, catalog.Edit{Description: &long}), fault.CodeValidationFailed},
		"unknown source":        {w.store.RemoveSource(ctx, "unknown"), fault.CodeNotFound},
	} {
		if !fault.Is(tc.err, tc.code) {
			t.Errorf("%s: got %v, want the fault %s", name, tc.err, tc.code)
		}
	}
	if got := w.audited(t); len(got) != 0 {
		t.Errorf("audit log = %v", got)
	}
}

func TestAddAndRemoveSources(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		r := newRegistry(t, official()...)
		ctx := t.Context()
		source, err := w.store.AddSource(ctx, catalog.NewSource{Kind: models.CatalogOfficial, Name: "Test", URL: r.URL + "/"})
		if err != nil {
			t.Fatal(err)
		}
		_, err = w.store.AddSource(ctx, catalog.NewSource{Kind: models.CatalogOfficial, URL: r.URL + "/v0.1"})
		want(t, err, fault.CodeConflict)
		_, err = w.store.SyncSource(ctx, catalog.SourceDefault, catalog.Run{})
		want(t, err, fault.CodeConflict)
		if err := w.store.EnableSource(ctx, source.ID, false); err != nil {
			t.Fatal(err)
		}
		_, err = w.store.SyncSource(ctx, source.ID, catalog.Run{})
		want(t, err, fault.CodeConflict)
		if err := w.store.EnableSource(ctx, source.ID, true); err != nil {
			t.Fatal(err)
		}
		if _, err := w.store.SyncSource(ctx, source.ID, catalog.Run{}); err != nil {
			t.Fatal(err)
		}
		if got := len(w.catalog.AllEntries()); got != len(builtIn(t))+3 {
			t.Errorf("%d entries", got)
		}
		if err := w.store.RemoveSource(ctx, source.ID); err != nil {
			t.Fatal(err)
		}
		if err := w.store.RemoveSource(ctx, catalog.SourceDefault); err != nil {
			t.Fatal(err)
		}
		if err := w.store.LoadDefaults(ctx); err != nil {
			t.Fatal(err)
		}
		if got := len(w.catalog.AllEntries()) + len(w.catalog.AllTemplates()); got != 0 {
			t.Errorf("%d rows are left", got)
		}
		if err := w.store.EnableSource(ctx, catalog.SourceDefault, true); err != nil {
			t.Fatal(err)
		}
		if got := len(w.catalog.AllEntries()); got != len(builtIn(t)) {
			t.Errorf("%d built-in entries are back", got)
		}
		want := []string{"catalog.source_added", "catalog.source_disabled", "catalog.source_enabled", "catalog.imported", "catalog.source_removed", "catalog.source_removed", "catalog.source_enabled"}
		if diff := cmp.Diff(want, w.audited(t)); diff != "" {
			t.Errorf("audit log (-want +got):\n%s", diff)
		}
	})
}

func TestStoredHasHiddenRows(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.importFile(t, rows)
		w.importFile(t, `{"version":1,"items":[{"publisherName":"ours","serverName":"gone","serverType":"stdio"},{"publisherName":"ours","serverName":"here","serverType":"stdio"}]}`)
		w.importFile(t, `{"version":1,"items":[{"publisherName":"ours","serverName":"gone","serverType":"stdio","status":"deleted"}]}`)
		e, err := w.catalog.EntryByName("ours", "here")
		if err != nil {
			t.Fatal(err)
		}
		if err := w.store.SetHidden(t.Context(), e.ID, true); err != nil {
			t.Fatal(err)
		}
		found, _, err := w.catalog.Stored("publisher:ours")
		if err != nil || names(found) != "ours/here" {
			t.Errorf("Stored() = %s (%v)", names(found), err)
		}
		all, _, err := w.catalog.Stored("")
		if err != nil || len(all) != len(w.catalog.AllEntries())+1 || !slices.IsSortedFunc(all, func(a, b *models.CatalogEntry) int {
			return strings.Compare(a.PublisherName+"/"+a.ServerName, b.PublisherName+"/"+b.ServerName)
		}) {
			t.Errorf("Stored() returns %d entries (%v)", len(all), err)
		}
		if _, _, err := w.catalog.Stored("colour:red"); !fault.Is(err, fault.CodeUnknownQualifier) {
			t.Errorf("an unknown qualifier: %v", err)
		}
	})
}
