package routes_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/projects"
	"mcpgateway/services/secrets"
)

var update = flag.Bool("update", false, "rewrite the expected outcomes of pasted configurations")

// pasteOutcome is the result of a pasted configuration: the stored servers, and
// the reasons of rejections by their path in the text.
type pasteOutcome struct {
	Servers map[string]storedServer `json:"servers"`
	Refused []string                `json:"refused"`
	Notes   []string                `json:"notes"`
}

// storedServer is the row of a server with decrypted secrets.
type storedServer struct {
	URL              string            `json:"url"`
	Transport        string            `json:"transport"`
	AuthType         string            `json:"authType"`
	AuthBearer       string            `json:"authBearer,omitempty"`
	Headers          map[string]string `json:"headers,omitempty"`
	AllowedTools     []string          `json:"allowedTools,omitempty"`
	DenyTools        []string          `json:"denyTools,omitempty"`
	Enabled          bool              `json:"enabled"`
	Timeout          int64             `json:"timeout"`
	SessionMode      string            `json:"sessionMode"`
	DefinitionPolicy string            `json:"definitionPolicy"`
	ProtocolVersion  string            `json:"protocolVersion,omitempty"` // if it is not auto
	TaskTimeout      int64             `json:"taskTimeout,omitempty"`     // if it is not 10 minutes
	OAuthClientID    string            `json:"oauth.clientId,omitempty"`
	OAuthSecret      string            `json:"oauth.clientSecret,omitempty"`
	OAuthScopes      []string          `json:"oauth.scopes,omitempty"`
}

// TestPastedConfigurations sends the configurations of clients through the
// wizard, the import and the API. All three store the same servers and reject
// the rest with the same text.
func TestPastedConfigurations(t *testing.T) {
	paths, err := filepath.Glob("testdata/paste/*.txtar")
	if err != nil || len(paths) < 40 {
		t.Fatalf("%d configurations (%v)", len(paths), err)
	}
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		a := newPasteApp(t, dsn)
		for i, path := range paths {
			t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
				archive, err := txtar.ParseFile(path)
				if err != nil {
					t.Fatal(err)
				}
				text := string(archive.Files[0].Data)
				byAPI := a.byAPI(t, fmt.Sprintf("api-%d", i), text)
				if *update {
					archive.Files[1].Data = append(encoded(t, byAPI), '\n')
					if err := os.WriteFile(path, txtar.Format(archive), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				var want pasteOutcome
				if err := json.Unmarshal(archive.Files[1].Data, &want); err != nil {
					t.Fatal(err)
				}
				for way, got := range map[string]pasteOutcome{
					"API": byAPI, "import": a.byImport(t, text, want), "wizard": a.byWizard(t, fmt.Sprintf("wizard-%d", i), text, want),
				} {
					if diff := cmp.Diff(string(encoded(t, want)), string(encoded(t, got))); diff != "" {
						t.Errorf("%s (-want +got):\n%s", way, diff)
					}
				}
			})
		}
	})
}

func encoded(t *testing.T, v any) []byte {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return bytes.TrimSpace(b.Bytes())
}

// stored returns the servers of a project.
func (a *pasteApp) stored(t *testing.T, slug string) map[string]storedServer {
	t.Helper()
	project, err := a.Services.Projects.Project(t.Context(), slug)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := a.Services.Projects.Servers(t.Context(), project.ID)
	if err != nil {
		t.Fatal(err)
	}
	servers := map[string]storedServer{}
	for _, row := range rows {
		s := storedServer{
			URL: row.URL, Transport: string(row.Transport), AuthType: string(row.AuthType), Headers: map[string]string{},
			AuthBearer:   a.opened(t, row.AuthBearer, projects.BearerRow(row.ID)),
			AllowedTools: row.AllowedTools, DenyTools: row.DenyTools, Enabled: row.Enabled, Timeout: row.TimeoutMS,
			SessionMode: string(row.SessionMode), DefinitionPolicy: string(row.DefinitionPolicy), OAuthClientID: row.OAuthClientID,
			OAuthSecret: a.opened(t, row.OAuthClientSecret, projects.ClientSecretRow(row.ID)), OAuthScopes: row.OAuthScopes,
		}
		if row.ProtocolVersion != models.ProtocolAuto {
			s.ProtocolVersion = row.ProtocolVersion
		}
		if row.TaskTimeoutMS != 600_000 {
			s.TaskTimeout = row.TaskTimeoutMS
		}
		for name, stored := range row.Headers {
			s.Headers[name] = a.opened(t, stored, projects.HeaderRow(row.ID, name))
		}
		servers[row.Alias] = s
	}
	return servers
}

// opened returns a stored secret: a reference unchanged, a literal decrypted.
func (a *pasteApp) opened(t *testing.T, stored, row string) string {
	t.Helper()
	if _, reference := secrets.Reference(stored); reference || stored == "" {
		return stored
	}
	v, err := a.ring.Open(stored, row)
	if err != nil {
		t.Fatal(err)
	}
	return "sealed " + v.Reveal()
}

// lines returns problems as sorted lines.
func lines(problems map[string]string) []string {
	all := []string{}
	for _, path := range slices.Sorted(maps.Keys(problems)) {
		switch path {
		case "(body)", "(file)", "pasted": // about the whole text: the reason follows the last sentence
			_, why, _ := strings.Cut(problems[path], ": ")
			all = append(all, why)
		default:
			all = append(all, path+": "+problems[path])
		}
	}
	return all
}

func newPasteApp(t *testing.T, dsn string, settings ...string) *pasteApp {
	t.Helper()
	ring, err := secrets.ParseKeyRing("test:MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=")
	if err != nil {
		t.Fatal(err)
	}
	a := &pasteApp{App: routestest.New(t, dsn, settings...), ring: ring}
	a.signIn(t, models.RoleAdmin)
	return a
}
