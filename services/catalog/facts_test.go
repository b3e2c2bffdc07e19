package catalog_test

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/catalog"
	"mcpgateway/services/notify"
)

func TestCheckIsReadWithCatalog(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		w := join(t, dsn)
		if _, err := w.store.ImportFile(t.Context(), []byte(`{"version":1,"items":[{"publisherName":"p","serverName":"a","serverType":"http","remoteUrl":"https://a.example.com/mcp"}]}`), false); err != nil {
			t.Fatal(err)
		}
		e, err := w.catalog.EntryByName("p", "a")
		if err != nil {
			t.Fatal(err)
		}
		if check, ok := w.catalog.Check(e.ID); ok || check != nil {
			t.Fatalf("Check() before a check = %v", check)
		}
		since := time.Date(2026, 9, 3, 12, 0, 0, 0, time.UTC)
		want := models.CatalogCheck{EntryID: e.ID, CheckedAt: since.Add(time.Hour), State: models.CheckFailed, Message: "no response", FailingSince: &since, Tools: models.CheckedTools{
			{Name: "look", ReadOnly: new(true), Parameters: []string{"query"}, Tokens: 12}, {Name: "other"},
		}}
		if err := w.db.Transaction(func(tx *gorm.DB) error {
			if err := tx.Create(&want).Error; err != nil {
				return err
			}
			return notify.Touch(tx, notify.Catalog())
		}); err != nil {
			t.Fatal(err)
		}
		if err := w.catalog.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
		got, ok := w.catalog.Check(e.ID)
		if !ok {
			t.Fatal("no check")
		}
		utc := cmp.Transformer("utc", func(at time.Time) string { return at.UTC().Format(time.RFC3339Nano) })
		if d := cmp.Diff(&want, got, utc); d != "" {
			t.Errorf("Check() (-want +got):\n%s", d)
		}
	})
}

func TestOfficialDocumentHasPackages(t *testing.T) {
	w := join(t, modelstest.SQLite(t))
	const file = `{"version":1,"items":[{"publisherName":"p","serverName":"%s","serverType":"stdio","description":"Finds.",%s}]}`
	for name, tc := range map[string]struct{ row, want string }{
		"several": {
			`"packages":[{"type":"npm","identifier":"@p/mcp","args":["start","--all"],"needs":"a folder"},{"type":"oci","identifier":"p/mcp:1"}],"secretEnv":["KEY","OTHER"],
			 "env":[{"name":"KEY","description":"The key","required":true,"secret":true},{"name":"REGION","required":false,"secret":false},{"name":"MAYBE"}]`,
			`[{"registryType":"npm","identifier":"@p/mcp","transport":{"type":"stdio"},
			   "packageArguments":[{"type":"positional","value":"start"},{"type":"positional","value":"--all"},{"type":"positional","valueHint":"value","description":"a folder","isRequired":true}],"environmentVariables":%[1]s},
			  {"registryType":"oci","identifier":"p/mcp:1","transport":{"type":"stdio"},"environmentVariables":%[1]s}]`,
		},
		"older": {
			`"packageType":"pypi","packageIdentifier":"p-mcp","secretEnv":["KEY"]`,
			`[{"registryType":"pypi","identifier":"p-mcp","transport":{"type":"stdio"},"environmentVariables":[{"name":"KEY","isRequired":false,"isSecret":true}]}]%[2]s`,
		},
		"none": {`"packages":[]`, `null%[2]s`},
	} {
		if _, err := w.store.ImportFile(t.Context(), fmt.Appendf(nil, file, name, tc.row), false); err != nil {
			t.Fatal(err)
		}
		list, err := w.catalog.OfficialVersions(t.Context(), catalog.OfficialVersion{Name: "p/" + name, Version: "latest"})
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			Packages any `json:"packages"`
		}
		if err := json.Unmarshal(list.Servers[0].Server, &got); err != nil {
			t.Fatal(err)
		}
		const env = `[{"name":"KEY","description":"The key","isRequired":true,"isSecret":true},{"name":"REGION","isRequired":false,"isSecret":false},{"name":"MAYBE","isRequired":false,"isSecret":false},{"name":"OTHER","isRequired":false,"isSecret":true}]`
		var want any
		if err := json.Unmarshal(fmt.Appendf(nil, tc.want, env, ""), &want); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got.Packages); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

func TestPackageNeedsAreImported(t *testing.T) {
	w := join(t, modelstest.SQLite(t))
	const file = `{"version":1,"items":[{"publisherName":"p","serverName":"a","serverType":"stdio","packages":[{"type":"npm","identifier":"x"%s}]}]}`
	for _, tc := range []struct {
		needs, want string
		updated     int
	}{{"", "", 0}, {`,"needs":"a folder"`, "a folder", 1}, {`,"needs":"a  folder"`, "a folder", 0}, {"", "", 1}} {
		plan, err := w.store.ImportFile(t.Context(), fmt.Appendf(nil, file, tc.needs), false)
		if err != nil {
			t.Fatal(err)
		}
		e, err := w.catalog.EntryByName("p", "a")
		if err != nil {
			t.Fatal(err)
		}
		if got := e.AllPackages(); len(got) != 1 || got[0].Needs != tc.want || plan.Updated != tc.updated {
			t.Errorf("needs %q: packages %+v, plan %+v", tc.needs, got, plan)
		}
	}
	if _, err := w.store.ImportFile(t.Context(), fmt.Appendf(nil, file, `,"need":"a folder"`), false); err == nil {
		t.Error("an unknown member of a package is accepted")
	}
}

// TestCommandLinesOfBuiltInData requires that every note about a command line is
// shown with a package of the built-in data.
func TestCommandLinesOfBuiltInData(t *testing.T) {
	raw, err := os.ReadFile("data/needs.json")
	if err != nil {
		t.Fatal(err)
	}
	var needs map[string]string
	if err := json.Unmarshal(raw, &needs); err != nil {
		t.Fatal(err)
	}
	shown := map[string]string{}
	for _, e := range onSQLite(t).catalog.AllEntries() {
		for _, p := range e.AllPackages() {
			if p.Needs != "" {
				shown[p.Identifier] = p.Needs
			}
		}
	}
	if diff := cmp.Diff(needs, shown); diff != "" {
		t.Errorf("(-file +catalog):\n%s", diff)
	}
}
