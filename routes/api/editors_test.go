package api_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"mcpgateway/models"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/catalog/registries"
	"mcpgateway/web/webtest"
)

var update = flag.Bool("update", false, "update the recorded responses")

// editorRows are rows of acme, and as many of filler as one page of an editor has.
func editorRows() string {
	rows := []string{
		`{"publisherName":"acme","serverName":"search","serverTitle":"Search","serverType":"http","remoteUrl":"https://search.acme.example/mcp","authType":"header","authHeader":"X-Acme-Key","description":"Searches documents"}`,
		`{"publisherName":"acme","serverName":"local","serverTitle":"Local","serverType":"stdio","packageType":"npm","packageIdentifier":"@acme/local","env":[{"name":"ACME_KEY","required":true,"secret":true}],"packages":[{"type":"npm","identifier":"@acme/local","args":["serve"]}]}`,
		`{"publisherName":"acme","serverName":"old","serverType":"sse","remoteUrl":"https://old.acme.example/sse","status":"deprecated"}`,
	}
	for i := range 48 {
		rows = append(rows, fmt.Sprintf(`{"publisherName":"filler","serverName":"s%02d","serverType":"stdio"}`, i))
	}
	return `{"version":1,"items":[` + strings.Join(rows, ",") + `]}`
}

// newRegistry returns an application with published projects, views and rows, and
// the secrets of the requests by name.
func newRegistry(t *testing.T) (*app, map[string]string) {
	t.Helper()
	a := onSQLite(t)
	a.Apply(t, `{"projects":{"open":{"authMode":"none","published":true,"name":"Open","description":"Tools for everyone"},
	 "keys":{"authMode":"api_key","published":true},"private":{"authMode":"none"}}}`)
	a.Toolset(t, "keys", models.Toolset{Slug: "few", Name: "Few"})
	if _, err := a.Services.CatalogStore.ImportFile(t.Context(), []byte(editorRows()), false); err != nil {
		t.Fatal(err)
	}
	routestest.Eventually(t, "the rows of the file and of projects", func() bool { return len(a.Services.Catalog.AllEntries()) == 54 })
	store := a.Services.Registries
	for _, v := range []registries.NewView{{Name: "acme", Kind: models.ViewQuery, Query: "publisher:acme"}, {Name: "team", Kind: models.ViewList, Gated: true}} {
		if _, err := store.Create(t.Context(), v); err != nil {
			t.Fatal(err)
		}
	}
	for _, e := range a.Services.Catalog.AllEntries() {
		if e.ServerName != "local" {
			if err := store.AddEntry(t.Context(), "team", e.ID); err != nil {
				t.Fatal(err)
			}
		}
	}
	secrets := map[string]string{"$ADMINTOKEN": routestest.AdminToken}
	for _, name := range []string{"$KEY", "$REVOKED"} {
		row, key, err := store.CreateKey(t.Context(), registries.NewKey{Name: "editors"})
		if err != nil {
			t.Fatal(err)
		}
		if secrets[name] = key.Reveal(); name == "$REVOKED" {
			if err := store.RevokeKey(t.Context(), row.ID); err != nil {
				t.Fatal(err)
			}
		}
	}
	_, secrets["$PROJECTKEY"] = a.Key(t, "keys", 0)
	return a, secrets
}

// recordedHeaders are those that decide what clients and caches do.
var recordedHeaders = []string{
	"Content-Type", "WWW-Authenticate", "Cache-Control", "Vary", "Access-Control-Allow-Origin", "Access-Control-Allow-Methods", "Access-Control-Allow-Headers",
	"Access-Control-Allow-Credentials", "Access-Control-Expose-Headers",
}

var recordedTime = regexp.MustCompile(`"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z"`)

// recorded returns a response as it is in the file. Lists of more than three servers
// are shortened.
func recorded(t *testing.T, got webtest.Response) (text, cursor string) {
	t.Helper()
	b := &strings.Builder{}
	fmt.Fprintf(b, "%d\n", got.Status)
	for _, name := range recordedHeaders {
		if value := got.Header.Get(name); value != "" {
			fmt.Fprintf(b, "%s: %s\n", name, value)
		}
	}
	var list struct {
		Servers  []struct{ Server struct{ Name string } }
		Metadata struct {
			NextCursor string
			Count      int
		}
	}
	if got.Body != "" && got.Status == 200 {
		if err := json.Unmarshal([]byte(got.Body), &list); err != nil {
			t.Fatalf("%v: %s", err, got.Body)
		}
	}
	body := recordedTime.ReplaceAllString(routestest.Normalise(got.Body), `"TIME"`)
	if n := len(list.Servers); n > 3 {
		body = fmt.Sprintf("%d servers from %s to %s, next %q", n, list.Servers[0].Server.Name, list.Servers[n-1].Server.Name, list.Metadata.NextCursor)
	}
	fmt.Fprintf(b, "%s\n", strings.TrimSuffix(body, "\n"))
	return b.String(), list.Metadata.NextCursor
}

// TestEditorRequests replays testdata/vscode.txtar. A line of its requests has a method,
// a path and headers separated by " | ". $CURSOR is the last cursor, and $KEY, $REVOKED,
// $PROJECTKEY and $ADMINTOKEN are secrets.
func TestEditorRequests(t *testing.T) {
	const path = "testdata/vscode.txtar"
	archive, err := txtar.ParseFile(path)
	if err != nil || len(archive.Files) != 2 {
		t.Fatalf("%d parts (%v)", len(archive.Files), err)
	}
	a, secrets := newRegistry(t)
	names := slices.Sorted(func(yield func(string) bool) {
		for name := range secrets {
			if !yield(name) {
				return
			}
		}
	})
	var responses bytes.Buffer
	cursor := ""
	for line := range strings.Lines(string(archive.Files[0].Data)) {
		line = strings.TrimSuffix(line, "\n")
		fmt.Fprintf(&responses, "\n%s\n", line)
		if strings.HasPrefix(line, "#") {
			continue
		}
		line = strings.ReplaceAll(line, "$CURSOR", cursor)
		for _, name := range names {
			line = strings.ReplaceAll(line, name, secrets[name])
		}
		method, rest, _ := strings.Cut(line, " ")
		target, headers, _ := strings.Cut(rest, " ")
		c := webtest.Case{Method: method, Path: target, Header: map[string]string{}}
		for header := range strings.SplitSeq(headers, " | ") {
			if name, value, ok := strings.Cut(header, ": "); ok {
				c.Header[name] = value
			}
		}
		text, next := recorded(t, webtest.Send(t, a.App.App, c))
		responses.WriteString(text)
		if next != "" {
			cursor = next
		}
	}
	if *update {
		archive.Files[1].Data = responses.Bytes()
		if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if d := cmp.Diff(string(archive.Files[1].Data), responses.String()); d != "" {
		t.Errorf("responses (-want +got):\n%s", d)
	}
	for name, secret := range secrets {
		if strings.Contains(responses.String(), secret) || strings.Contains(a.Log.String(), secret) {
			t.Errorf("%s is in a response or in the log", name)
		}
	}
}
