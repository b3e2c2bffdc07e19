package catalog_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"mcpgateway/models"
	"mcpgateway/services/catalog"
	"mcpgateway/services/fault"
)

// version is one version of a server in the list of the official registry.
type version struct {
	server  string // server.json
	status  string
	latest  bool
	updated time.Time
}

// registry implements the official API with its paging: a cursor is the last
// name and version of a page, and an empty page may have a next one.
type registry struct {
	*httptest.Server
	mu       sync.Mutex
	versions []version
	received []string // received queries
	perPage  int
	answer   func(w http.ResponseWriter, page int) bool // replaces the response
}

func newRegistry(t *testing.T, versions ...version) *registry {
	t.Helper()
	r := &registry{versions: versions, perPage: 2}
	r.Server = httptest.NewServer(http.HandlerFunc(r.serve))
	t.Cleanup(r.Close)
	return r
}

func (r *registry) serve(w http.ResponseWriter, request *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.received = append(r.received, request.URL.RawQuery)
	q := request.URL.Query()
	if r.answer != nil && r.answer(w, len(r.received)) {
		return
	}
	if request.URL.Path != "/v0.1/servers" || q.Get("version") != "latest" {
		http.NotFound(w, request)
		return
	}
	since, _ := time.Parse(time.RFC3339, q.Get("updated_since"))
	from := 0
	if cursor := q.Get("cursor"); cursor != "" {
		from, _ = strconv.Atoi(strings.TrimPrefix(cursor, "at:"))
	}
	rows := []any{}
	next := ""
	for i := from; i < len(r.versions); i++ {
		if i-from == r.perPage { // counts skipped rows too, so pages differ in length
			next = fmt.Sprintf("at:%d", i)
			break
		}
		v := r.versions[i]
		if v.updated.Before(since) || since.IsZero() && v.status == "deleted" {
			continue
		}
		rows = append(rows, map[string]any{
			"server": json.RawMessage(v.server),
			"_meta": map[string]any{"io.modelcontextprotocol.registry/official": map[string]any{
				"status": v.status, "isLatest": v.latest, "publishedAt": v.updated, "updatedAt": v.updated,
			}},
		})
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"servers": rows, "metadata": map[string]any{"count": len(rows), "nextCursor": next}})
}

func (r *registry) set(i int, v version) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.versions[i] = v
}

func (r *registry) queries() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	queries := r.received
	r.received = nil
	return queries
}

func day(n int) time.Time { return time.Date(2026, 1, n, 0, 0, 0, 0, time.UTC) }

const (
	weather = `{"$schema":"s","name":"com.example/weather","title":"Weather \u202eevil","description":"Forecasts.","version":"1.2.0","websiteUrl":"javascript:alert(1)",
		"repository":{"url":"https://github.com/example/weather","source":"github"},"icons":[{"src":"http://example.com/i.png"}],
		"remotes":[{"type":"sse","url":"https://api.example.com/sse"},{"type":"streamable-http","url":"https://api.example.com/mcp","headers":[{"name":"authorization","isSecret":true}]}],
		"packages":[{"registryType":"npm","identifier":"@example/weather","environmentVariables":[{"name":"KEY","isSecret":true},{"name":"PORT"}]}]}`
	local     = `{"name":"io.github.someone/local","description":"Runs here.","version":"0.1.0","packages":[{"registryType":"oci","identifier":"ghcr.io/someone/local:1"}]}`
	keyed     = `{"name":"com.example/keyed","description":"k","version":"1","remotes":[{"type":"sse","url":"https://k.example.com/sse","headers":[{"name":"X-Key","isSecret":true}]}]}`
	old       = `{"name":"com.example/weather","description":"Older.","version":"1.0.0","remotes":[{"type":"sse","url":"https://old.example.com/sse"}]}`
	templated = `{"name":"com.example/templated","description":"t","version":"1","remotes":[{"type":"streamable-http","url":"https://{tenant}.example.com/mcp"}]}`
	nothing   = `{"name":"com.example/nothing","description":"n","version":"1"}`
	badName   = `{"name":"<script>","description":"n","version":"1"}`
)

func official() []version {
	return []version{
		{keyed, "active", true, day(1)},
		{nothing, "active", true, day(1)},
		{old, "active", false, day(1)},
		{weather, "active", true, day(2)},
		{templated, "active", true, day(3)},
		{local, "deprecated", true, day(3)},
		{badName, "active", true, day(4)},
	}
}

func TestOfficialRegistrySync(t *testing.T) {
	withDefaults.Each(t, func(t *testing.T, dsn string) {
		w := start(t, dsn)
		r := newRegistry(t, official()...)
		dry, err := w.store.ImportURL(t.Context(), r.URL, catalog.Run{DryRun: true})
		if err != nil || !dry.DryRun || dry.Added != 3 {
			t.Fatalf("dry run plan = %+v (%v)", dry, err)
		}
		if sources, err := w.store.Sources(t.Context()); err != nil || len(sources) != 2 {
			t.Fatalf("the dry run stored %d sources (%v)", len(sources), err)
		}
		r.queries()
		before := w.revision(t)
		plan, err := w.store.ImportURL(t.Context(), r.URL+"/v0.1/servers", catalog.Run{})
		if err != nil {
			t.Fatal(err)
		}
		if plan.Added != 3 || plan.Skipped != 3 || plan.Fetched != 7 || len(plan.Warnings) != 5 || plan.Updated+plan.Deleted != 0 {
			t.Errorf("plan = %+v", plan)
		}
		if got := w.revision(t); got != before+2 { // the source, and all of its rows together
			t.Errorf("revision %d became %d", before, got)
		}
		if got := len(r.queries()); got != 4 {
			t.Errorf("%d pages were fetched", got)
		}
		e, err := w.catalog.EntryByName("com.example", "weather")
		if err != nil {
			t.Fatal(err)
		}
		want := &models.CatalogEntry{
			SourceID: plan.Source, Version: "1.2.0", PublisherName: "com.example", PublisherTitle: "example.com", ServerName: "weather", ServerTitle: "Weather evil",
			ServerType: "http", Tags: models.StringList{}, RepoURL: "https://github.com/example/weather", Description: "Forecasts.",
			RemoteURL: "https://api.example.com/mcp", AltRemoteURL: "https://api.example.com/sse", AuthType: "bearer", PackageType: "npm", PackageIdentifier: "@example/weather",
			Variables: models.CatalogVariables{{Name: "KEY", Required: new(false), Secret: true}, {Name: "PORT", Required: new(false)}},
			SecretEnv: models.StringList{"KEY"}, ToolNames: models.StringList{}, ReadTools: models.StringList{}, WriteTools: models.StringList{}, Status: models.CatalogActive,
		}
		if diff := cmp.Diff(want, e, cmpopts.IgnoreFields(models.CatalogEntry{}, "ID", "ContentHash", "CreatedAt", "UpdatedAt")); diff != "" {
			t.Errorf("entry (-want +got):\n%s", diff)
		}
		if e, err := w.catalog.EntryByName("com.example", "keyed"); err != nil || e.AuthType != "header" || e.AuthHeader != "X-Key" || e.ServerType != "sse" {
			t.Errorf("keyed = %+v (%v)", e, err)
		}
		if e, err := w.catalog.EntryByName("io.github.someone", "local"); err != nil || e.PublisherTitle != "someone" || e.ServerType != "stdio" || e.Status != models.CatalogDeprecated {
			t.Errorf("local = %+v (%v)", e, err)
		}

		before = w.revision(t)
		audited := len(w.audited(t))
		version := w.catalog.Version()
		again, err := w.store.SyncSource(t.Context(), plan.Source, catalog.Run{})
		if err != nil || again.Changed() {
			t.Errorf("second sync = %+v (%v)", again, err)
		}
		if w.revision(t) != before || len(w.audited(t)) != audited || w.catalog.Version() != version {
			t.Error("the second sync left a trace")
		}
		if got := r.queries(); !strings.Contains(got[0], "updated_since=2026-01-03T23%3A59%3A00Z") {
			t.Errorf("query of the second sync = %s", got[0])
		}

		r.set(0, versionOf(keyed, "deleted", day(10)))
		r.set(3, versionOf(strings.Replace(weather, "1.2.0", "2.0.0", 1), "active", day(11)))
		changed, err := w.store.SyncSource(t.Context(), plan.Source, catalog.Run{Approved: 1})
		if err != nil || changed.Deleted != 1 || changed.Updated != 1 || changed.Added != 0 {
			t.Errorf("third sync = %+v (%v)", changed, err)
		}
		if _, err := w.catalog.EntryByName("com.example", "keyed"); !fault.Is(err, fault.CodeNotFound) {
			t.Errorf("Entry() of a deleted server: %v", err)
		}
		if e, err := w.catalog.EntryByName("com.example", "weather"); err != nil || e.Version != "2.0.0" {
			t.Errorf("changed server = %+v (%v)", e, err)
		}
		r.set(0, versionOf(keyed, "active", day(12)))
		if back, err := w.store.SyncSource(t.Context(), plan.Source, catalog.Run{}); err != nil || back.Updated != 1 {
			t.Errorf("sync of a restored server = %+v (%v)", back, err)
		}
		if e, err := w.catalog.EntryByName("com.example", "keyed"); err != nil || e.Status != models.CatalogActive {
			t.Errorf("restored server = %+v (%v)", e, err)
		}
	})
}

func TestOfficialImportIgnoredMembers(t *testing.T) {
	w := onSQLite(t)
	const one = `{"name":"com.example/one","NAME":"com.example/other","description":"d","version":"1","Title":"No","shiny":1,
		"repository":{"url":"gopher://x","branch":"b"},"icons":[{"src":"http://example.com/i.png"}],
		"remotes":[{"type":"sse","url":"https://one.example/sse","headers":[{"name":"X-Key","issecret":true}]},{"type":"sse","url":"ftp://one.example"}]}`
	r := newRegistry(t,
		versionOf(one, "active", day(1)),
		versionOf(strings.ReplaceAll(one, "/one", "/two"), "active", day(1)),
		versionOf(`{"name":"com.example/twice","version":"1","version":"2","packages":[{}]}`, "active", day(1)),
	)
	plan, err := w.store.ImportURL(t.Context(), r.URL, catalog.Run{})
	if err != nil {
		t.Fatal(err)
	}
	both := "com.example/one and 1 more: "
	if diff := cmp.Diff([]string{
		"a row without a name was skipped: its server object is invalid: the member version is repeated",
		both + "the URL in icons.src is invalid and is ignored",
		both + "the URL in repository.url is invalid and is ignored",
		both + "the URL in remotes.url is invalid and is ignored",
		both + "the member server.NAME is unknown and is ignored",
		both + "the member server.Title is unknown and is ignored",
		both + "the member server.shiny is unknown and is ignored",
		both + "the member server.repository.branch is unknown and is ignored",
		both + "the member server.remotes.headers.issecret is unknown and is ignored",
	}, plan.Warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	if e, err := w.catalog.EntryByName("com.example", "one"); err != nil || e.ServerTitle != "one" || e.AuthType != "unknown" {
		t.Errorf("entry = %+v (%v)", e, err)
	}
}

// TestOfficialPackages imports a server whose packages share their variables, and
// skips those with a package or variable without a name.
func TestOfficialPackages(t *testing.T) {
	var variables []string
	for i := range 60 {
		variables = append(variables, fmt.Sprintf(`{"name":"V%d","isSecret":%t}`, i, i == 0))
	}
	const head = `{"name":"com.example/%s","description":"d","version":"1","packages":[`
	one := `{"registryType":"npm","identifier":"a","environmentVariables":[` + strings.Join(variables, ",") + `]}`
	w := onSQLite(t)
	r := newRegistry(t,
		versionOf(fmt.Sprintf(head, "both")+one+","+strings.Replace(one, "npm", "pypi", 1)+`]}`, "active", day(1)),
		versionOf(fmt.Sprintf(head, "unidentified")+`{"registryType":"npm"}]}`, "active", day(1)),
		versionOf(fmt.Sprintf(head, "unnamed")+`{"registryType":"npm","identifier":"a","environmentVariables":[{"isSecret":true}]}]}`, "active", day(1)),
	)
	plan, err := w.store.ImportURL(t.Context(), r.URL, catalog.Run{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{
		"com.example/unidentified was skipped: packages[0].identifier must not be empty", "com.example/unnamed was skipped: env[0].name must not be empty",
	}, plan.Warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	e, err := w.catalog.EntryByName("com.example", "both")
	if err != nil || len(e.Packages) != 2 || len(e.Variables) != 60 || strings.Join(e.SecretEnv, " ") != "V0" {
		t.Errorf("entry = %+v (%v)", e, err)
	}
}

// TestImportWarningLimit imports a row whose number of unknown members is just
// below, at and above the limit of listed warnings.
func TestImportWarningLimit(t *testing.T) {
	for unknown, want := range map[int]int{99: 99, 100: 100, 101: 100} {
		w := onSQLite(t)
		var members strings.Builder
		for i := range unknown {
			fmt.Fprintf(&members, `"m%d":1,`, i)
		}
		r := newRegistry(t, versionOf(`{`+members.String()+local[1:], "active", day(1)))
		if plan, err := w.store.ImportURL(t.Context(), r.URL, catalog.Run{}); err != nil || len(plan.Warnings) != want {
			t.Errorf("%d unknown members: %d warnings, want %d (%v)", unknown, len(plan.Warnings), want, err)
		}
	}
}

func versionOf(server, status string, updated time.Time) version {
	return version{server, status, true, updated}
}

func TestHostileRegistryChangesNothing(t *testing.T) {
	page := `{"servers":[{"server":` + local + `}],"metadata":{"nextCursor":%q}}`
	for name, tc := range map[string]struct {
		answer func(w http.ResponseWriter, n int) bool
		code   fault.Code
	}{
		"repeated cursor": {func(w http.ResponseWriter, n int) bool {
			fmt.Fprintf(w, page, "c"+strconv.Itoa(n%3))
			return true
		}, fault.CodeUpstreamInvalidResponse},
		"error after the first page": {func(w http.ResponseWriter, n int) bool {
			if n == 2 {
				w.WriteHeader(http.StatusInternalServerError)
			}
			return n == 2
		}, fault.CodeUpstreamUnavailable},
		"oversized page": {func(w http.ResponseWriter, _ int) bool {
			fmt.Fprint(w, `{"servers":[],"x":"`)
			for range 17 {
				fmt.Fprint(w, strings.Repeat("x", 1<<20))
			}
			return true
		}, fault.CodeUpstreamInvalidResponse},
		"too many servers on a page": {func(w http.ResponseWriter, _ int) bool {
			fmt.Fprint(w, `{"servers":[{}`+strings.Repeat(",{}", 1000)+`]}`)
			return true
		}, fault.CodeUpstreamInvalidResponse},
		"oversized cursor": {func(w http.ResponseWriter, _ int) bool {
			fmt.Fprintf(w, page, strings.Repeat("c", 4097))
			return true
		}, fault.CodeUpstreamInvalidResponse},
		"wrong JSON": {func(w http.ResponseWriter, _ int) bool { fmt.Fprint(w, `{"servers":"no"}`); return true }, fault.CodeUpstreamInvalidResponse},
		"not JSON":   {func(w http.ResponseWriter, _ int) bool { fmt.Fprint(w, `<html>`); return true }, fault.CodeUpstreamInvalidResponse},
		"half of it": {func(w http.ResponseWriter, _ int) bool {
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, `{"servers":[]`)
			return true
		}, fault.CodeUpstreamUnavailable},
		"broken redirect": {func(w http.ResponseWriter, _ int) bool {
			w.Header().Set("Location", "http://169.254.169.254/latest")
			w.WriteHeader(http.StatusFound)
			return true
		}, fault.CodeUpstreamUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			w := onSQLite(t)
			r := newRegistry(t, official()...)
			source, err := w.store.AddSource(t.Context(), catalog.NewSource{Kind: models.CatalogOfficial, URL: r.URL})
			if err != nil {
				t.Fatal(err)
			}
			before := w.revision(t)
			r.answer = tc.answer
			_, err = w.store.SyncSource(t.Context(), source.ID, catalog.Run{})
			want(t, err, tc.code)
			if w.revision(t) != before || len(w.catalog.AllEntries()) != len(builtIn(t)) {
				t.Errorf("%d entries after the sync, want no change", len(w.catalog.AllEntries()))
			}
			sources, err := w.store.Sources(t.Context())
			if last := sources[len(sources)-1]; err != nil || last.Succeeded || last.ErrorCode != string(tc.code) || last.ErrorMessage == "" || last.FinishedAt == nil {
				t.Errorf("source = %+v (%v)", last, err)
			}
			r.mu.Lock()
			r.answer = nil
			r.mu.Unlock()
			if plan, err := w.store.SyncSource(t.Context(), source.ID, catalog.Run{}); err != nil || plan.Added != 3 {
				t.Errorf("sync after the failure = %+v (%v)", plan, err)
			}
		})
	}
}

func TestHostileRowsAreSkippedOrCleaned(t *testing.T) {
	w := onSQLite(t)
	long := strings.Repeat("ä", 5000)
	rows := []version{
		versionOf(`{"name":"com.example/long","title":"`+long+`","description":"`+long+`","version":"`+long+`","remotes":[{"type":"sse","url":"https://x.example/sse"}]}`, "active", day(1)),
		versionOf(`{"name":"com.example/`+strings.Repeat("n", 189)+`","description":"d","version":"1","packages":[{}]}`, "active", day(1)),
		versionOf(`{"name":"com.example/inner","description":"a\u0000b\u200b\u2066c\udb40\udc41\n\td","version":"1","remotes":[{"type":"sse","url":"http://user:pw@x.example/sse"},{"type":"sse","url":"ftp://x.example"},{"type":"sse","url":"https://x.example/2"}]}`, "active", day(1)),
		versionOf(`{"name":"com.example/metadata","description":"d","version":"1","remotes":[{"type":"sse","url":"http://169.254.169.254/"}]}`, "active", day(1)),
		versionOf(`{"name":"a/b/c","description":"d","version":"1","packages":[{}]}`, "active", day(1)),
		versionOf(`{"name":7}`, "active", day(1)),
		versionOf(`[]`, "active", day(1)),
		versionOf(local, "weird", day(1)),
	}
	r := newRegistry(t, rows...)
	plan, err := w.store.ImportURL(t.Context(), r.URL, catalog.Run{})
	if err != nil {
		t.Fatal(err)
	}
	if plan.Added != 2 || plan.Skipped != 6 {
		t.Errorf("plan = %+v", plan)
	}
	e, err := w.catalog.EntryByName("com.example", "inner")
	if err != nil || e.Description != "a bc d" || e.RemoteURL != "https://x.example/2" {
		t.Errorf("inner = %+v (%v)", e, err)
	}
	e, err = w.catalog.EntryByName("com.example", "long")
	if err != nil || len([]rune(e.ServerTitle)) != 200 || len([]rune(e.Description)) != 1000 || len([]rune(e.Version)) != 255 {
		t.Errorf("long has %d, %d and %d characters (%v)", len([]rune(e.ServerTitle)), len([]rune(e.Description)), len([]rune(e.Version)), err)
	}
}
