package registry_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/valyala/fasthttp"

	"mcpgateway/models/modelstest"
	"mcpgateway/services/catalog"
	"mcpgateway/web/ratelimit"
	"mcpgateway/web/webtest"
)

// found is the page envelope of the catalog.
type found struct {
	Items      []map[string]any
	Count      int
	NextCursor *string
	Warnings   []map[string]any
	Coverage   map[string]any
}

const itemFields = "description docsUrl featured iconUrl id publisherName publisherTitle repoUrl serverName serverTitle serverType tags verified websiteUrl"

func fields(item map[string]any) string { return strings.Join(slices.Sorted(maps.Keys(item)), " ") }

func TestRegistryExpressive(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		w := newCatalogWorld(t, dsn)
		var page found
		answer := w.get(t, "/api/registry?query=", 200, &page)
		if page.Count != 20 || len(page.Items) != 20 || page.NextCursor == nil || page.Coverage["kind"] != "complete" || page.Warnings == nil {
			t.Errorf("first page: %s", answer.Body)
		}
		for _, item := range page.Items {
			if fields(item) != itemFields || item["featured"] != true {
				t.Errorf("item %v", item)
			}
		}
		seen := map[any]bool{}
		for path := "/api/registry?query=&limit=50"; ; {
			var page found
			w.get(t, path, 200, &page)
			for _, item := range page.Items {
				seen[item["id"]] = true
			}
			if page.NextCursor == nil {
				break
			}
			path = "/api/registry?limit=49&query=&cursor=" + url.QueryEscape(*page.NextCursor)
		}
		if len(seen) != len(w.catalog.AllEntries()) {
			t.Errorf("all pages have %d items", len(seen))
		}
		w.get(t, "/api/registry?query="+url.QueryEscape(`publisher:stripe transport:http -tag:nothing`), 200, &page)
		if page.Count != 1 || page.Items[0]["serverName"] != "stripe" || page.NextCursor != nil {
			t.Errorf("stripe: %+v", page)
		}
		w.get(t, "/api/registry?query=transport:tcp", 200, &page)
		if page.Count != 0 || len(page.Warnings) != 1 || page.Warnings[0]["code"] != "UNKNOWN_TRANSPORT" {
			t.Errorf("unknown transport: %+v", page)
		}
	})
}

func TestRegistrySuggestions(t *testing.T) {
	w := onSQLiteCatalog(t)
	type answer struct {
		found
		Suggestions []string
	}
	for _, tc := range []struct {
		path  string
		first string // publisher and server of the first suggestion
		codes string // of the warnings
	}{
		{"/api/registry?query=gihub", "github/github", "NO_LITERAL_MATCH"},
		{"/api/registry?query=gihub&limit=1", "github/github", "NO_LITERAL_MATCH"},
		{"/api/registry?query=stirpe+transport:stdio", "stripe/stripe-local", "NO_LITERAL_MATCH"},
		{"/api/registry?query=stirpe+type:template", "stripe/stripe", "RESULT_TYPE_FIXED NO_LITERAL_MATCH"},
		{"/api/registry?query=zzzzzzzz", "", ""},
		{"/api/registry?query=tag:nothing", "", ""},
		{"/api/registry?query=github", "", ""},
		{"/api/registry?query=", "", ""},
		{"/api/registry?search=gihub", "", ""},
		{"/api/templates?query=gihub", "", ""},
	} {
		var page answer
		body := w.get(t, tc.path, 200, &page).Body
		var codes []string
		for _, warning := range page.Warnings {
			codes = append(codes, fmt.Sprint(warning["code"]))
		}
		first := ""
		if len(page.Suggestions) > 0 {
			e, err := w.catalog.Entry(page.Suggestions[0])
			if err != nil {
				t.Fatal(err)
			}
			first = e.PublisherName + "/" + e.ServerName
		}
		if first != tc.first || strings.Join(codes, " ") != tc.codes || len(page.Suggestions) > 10 || strings.Contains(body, `"suggestions"`) != (tc.first != "") {
			t.Errorf("%s: first suggestion %q, codes %v: %s", tc.path, first, codes, body)
		}
		if tc.first != "" && (len(page.Items) > 0 || page.NextCursor != nil || page.Count != 0) {
			t.Errorf("%s has suggestions beside items: %s", tc.path, body)
		}
	}
}

func TestCatalogErrors(t *testing.T) {
	w := onSQLiteCatalog(t)
	var page found
	w.get(t, "/api/registry?query=mcp&limit=1", 200, &page)
	cursor := url.QueryEscape(*page.NextCursor)
	for _, tc := range []struct {
		path   string
		status int
		code   string
		span   string
	}{
		{"/api/registry?query=" + url.QueryEscape("日本 -colour:red"), 400, "UNKNOWN_QUALIFIER", `{"start":3,"end":14}`},
		{"/api/registry?query=category:x", 400, "UNSUPPORTED_QUALIFIER", `{"start":0,"end":10}`},
		{"/api/templates?query=transport:http", 400, "UNSUPPORTED_QUALIFIER", `{"start":0,"end":14}`},
		{"/api/registry?query=%22x", 400, "UNTERMINATED_QUOTE", `{"start":0,"end":2}`},
		{"/api/registry?query=%ff", 400, "INVALID_UTF8", ""},
		{"/api/registry?query=x&offset=1", 400, "CONFLICTING_PARAMETERS", ""},
		{"/api/registry?query=x&tag=y", 400, "CONFLICTING_PARAMETERS", ""},
		{"/api/registry?query=x&search=y", 400, "CONFLICTING_PARAMETERS", ""},
		{"/api/registry?query=x&colour=y", 400, "INVALID_PARAMETER", ""},
		{"/api/registry?query=x&query=y", 400, "INVALID_PARAMETER", ""},
		{"/api/registry?query=x&limit=0", 400, "INVALID_PARAMETER", ""},
		{"/api/registry?query=x&limit=51", 400, "INVALID_PARAMETER", ""},
		{"/api/registry?cursor=", 400, "INVALID_CURSOR", ""},
		{"/api/registry?cursor=" + cursor, 400, "INVALID_CURSOR", ""},
		{"/api/templates?query=mcp&cursor=" + cursor, 400, "INVALID_CURSOR", ""},
		{"/api/templates?query=&limit=51", 400, "INVALID_PARAMETER", ""},
		{"/api/templates?offset=1", 400, "INVALID_PARAMETER", ""},
		{"/api/templates?colour=1", 400, "INVALID_PARAMETER", ""},
		{"/api/registry?limit=0", 400, "INVALID_PARAMETER", ""},
		{"/api/registry?limit=1001", 400, "INVALID_PARAMETER", ""},
		{"/api/registry?offset=10001", 400, "INVALID_PARAMETER", ""},
		{"/api/registry?verified=maybe", 400, "INVALID_PARAMETER", ""},
		{"/v0.1/servers?limit=101", 400, "INVALID_PARAMETER", ""},
		{"/v0.1/servers?cursor=nothing", 400, "INVALID_CURSOR", ""},
		{"/v0.1/servers?updated_since=today", 400, "INVALID_PARAMETER", ""},
	} {
		var body struct {
			Code    string
			Restart bool
			Span    json.RawMessage
		}
		answer := w.get(t, tc.path, tc.status, &body)
		if body.Code != tc.code || string(body.Span) != tc.span || body.Restart != (tc.code == "INVALID_CURSOR") {
			t.Errorf("%s: %s", tc.path, answer.Body)
		}
		webtest.Check(t, webtest.Case{WantHeader: map[string]string{"ETag": "", "Cache-Control": "no-store", "Access-Control-Allow-Origin": "*"}}, answer)
	}
	for _, path := range []string{"/api/registry?query=x&limit=1", "/api/registry?query=x&limit=50", "/api/registry?limit=1", "/api/registry?limit=1000", "/api/registry?offset=10000", "/v0.1/servers?limit=100", "/api/registry?colour=ignored"} {
		w.get(t, path, 200, nil)
	}
	if err := w.store.SetHidden(t.Context(), page.Items[0]["id"].(string), true); err != nil {
		t.Fatal(err)
	}
	w.load(t)
	var stale struct {
		Code    string
		Restart bool
	}
	if w.get(t, "/api/registry?query=mcp&cursor="+cursor, 409, &stale); stale.Code != "CURSOR_STALE" || !stale.Restart {
		t.Errorf("%+v", stale)
	}
}

func TestRegistryLegacy(t *testing.T) {
	w := onSQLiteCatalog(t)
	var body map[string][]map[string]any
	w.get(t, "/api/registry", 200, &body)
	if len(body) != 1 || len(body["items"]) != min(len(w.catalog.AllEntries()), catalog.LegacyDefaultLimit) {
		t.Fatalf("%d keys and %d items", len(body), len(body["items"]))
	}
	want := itemFields + " authType packageIdentifier packageType remoteUrl toolNames"
	if got := fields(body["items"][0]); got != strings.Join(slices.Sorted(strings.SplitSeq(want, " ")), " ") {
		t.Errorf("item fields %s", got)
	}
	counts := map[string]int{}
	for _, e := range w.catalog.AllEntries() {
		counts["type="+e.ServerType]++
		counts[fmt.Sprintf("verified=%t", e.Verified)]++
		counts[fmt.Sprintf("featured=%t", e.Featured)]++
		counts[fmt.Sprintf("tools=%t", len(e.ToolNames) > 0)]++
	}
	n := len(w.catalog.AllEntries())
	for path, count := range map[string]int{
		"?limit=7":                      7,
		fmt.Sprintf("?offset=%d", n-5):  5,
		"?type=sse":                     counts["type=sse"],
		"?type=http":                    counts["type=http"],
		"?type=tcp":                     0,
		"?verified=true":                counts["verified=true"],
		"?featured=true":                counts["featured=true"],
		"?requireTools=true":            counts["tools=true"],
		"?requireTools=false&verified=": min(n, catalog.LegacyDefaultLimit),
		"?publisher=stripe":             2,
		"?search=STRIP_":                2,
		"?search=%25strip%25":           2,
		`?search=strip%5C_`:             0,
	} {
		body = nil
		if w.get(t, "/api/registry"+path, 200, &body); len(body["items"]) != count {
			t.Errorf("%s: %d items, want %d", path, len(body["items"]), count)
		}
	}
}

func TestTemplatesInPages(t *testing.T) {
	w := onSQLiteCatalog(t)
	var page found
	w.get(t, "/api/templates", 200, &page)
	if page.Count != 20 || page.NextCursor == nil {
		t.Fatalf("%+v", page)
	}
	if got := fields(page.Items[0]); got != "category createdAt description difficulty estimatedSetupMinutes id relatedServerNames role slug steps tags title" {
		t.Errorf("item fields %s", got)
	}
	var rest found
	if w.get(t, "/api/templates?cursor="+url.QueryEscape(*page.NextCursor), 200, &rest); rest.Count != 4 || rest.NextCursor != nil {
		t.Errorf("second page: %+v", rest)
	}
	if page.Items[0]["createdAt"].(string) < rest.Items[3]["createdAt"].(string) {
		t.Error("newest template is not first")
	}
}

func TestCatalogCachingAndCORS(t *testing.T) {
	w := onSQLiteCatalog(t)
	tags := map[string]bool{}
	for _, path := range []string{"/api/registry", "/api/registry?query=", "/api/registry?query=git", "/api/templates", "/v0.1/servers", "/v0.1/servers/stripe%2Fstripe/versions/latest"} {
		answer := w.get(t, path, 200, nil)
		tag := answer.Header.Get("ETag")
		webtest.Check(t, webtest.Case{WantHeader: map[string]string{"Cache-Control": "public, max-age=60", "Access-Control-Allow-Origin": "*"}}, answer)
		if tags[tag] || !strings.HasPrefix(tag, `"`) {
			t.Errorf("%s: ETag = %q", path, tag)
		}
		tags[tag] = true
		again := webtest.Send(t, w.app, webtest.Case{Path: path, Header: map[string]string{"If-None-Match": tag}})
		if again.Status != http.StatusNotModified || again.Body != "" || again.Header.Get("ETag") != tag {
			t.Errorf("%s again: %d %s", path, again.Status, again.Body)
		}
		preflight := webtest.Send(t, w.app, webtest.Case{Method: "OPTIONS", Path: path, Header: map[string]string{"Origin": "https://elsewhere.example", "Access-Control-Request-Method": "GET"}})
		webtest.Check(t, webtest.Case{Status: 204, WantHeader: map[string]string{"Access-Control-Allow-Origin": "*", "Access-Control-Allow-Methods": "GET, HEAD, OPTIONS"}}, preflight)
	}
	before := w.get(t, "/api/registry?query=git", 200, nil).Header.Get("ETag")
	if err := w.store.SetFeatured(t.Context(), w.catalog.AllEntries()[400].ID, true); err != nil {
		t.Fatal(err)
	}
	w.load(t)
	if after := webtest.Send(t, w.app, webtest.Case{Path: "/api/registry?query=git", Header: map[string]string{"If-None-Match": before}}); after.Status != 200 || after.Header.Get("ETag") == before {
		t.Errorf("after a change: status %d, ETag %s", after.Status, after.Header.Get("ETag"))
	}
}

func TestCatalogRateLimit(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	w := onSQLiteCatalog(t, ratelimit.NewAddressLimit(20, 100, func() time.Time { return now }).Handler)
	for range 100 {
		w.get(t, "/api/templates?limit=1", 200, nil)
	}
	answer := w.get(t, "/api/registry?query=x", 429, nil)
	webtest.Check(t, webtest.Case{WantHeader: map[string]string{"Retry-After": "1", "Access-Control-Allow-Origin": "*"}, WantBody: []string{"RATE_LIMITED"}}, answer)
}

func TestOfficialFormat(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		w := newCatalogWorld(t, dsn)
		var one struct {
			Server map[string]any            `json:"server"`
			Meta   map[string]map[string]any `json:"_meta"`
		}
		w.get(t, "/v0.1/servers/stripe%2Fstripe/versions/latest", 200, &one)
		if one.Server["name"] != "stripe/stripe" || one.Server["version"] != "1.0.0" || one.Meta["io.modelcontextprotocol.registry/official"]["isLatest"] != true {
			t.Errorf("stripe: %v", one)
		}
		remote := one.Server["remotes"].([]any)[0].(map[string]any)
		if remote["type"] != "streamable-http" || !strings.HasPrefix(remote["url"].(string), "https://") {
			t.Errorf("remote: %v", remote)
		}
		w.get(t, "/v0.1/servers/stripe%2Fstripe/versions/1.0.0", 200, nil)
		type list struct {
			Servers []struct {
				Server struct{ Name string }
				Meta   map[string]struct{ Status string } `json:"_meta"`
			}
			Metadata struct {
				Count      int
				NextCursor string
			}
		}
		var versions list
		if w.get(t, "/v0.1/servers/stripe%2Fstripe/versions", 200, &versions); versions.Metadata.Count != 1 {
			t.Errorf("versions: %+v", versions)
		}
		var names []string
		for path := "/v0.1/servers?version=latest&limit=100"; path != ""; {
			var page list
			w.get(t, path, 200, &page)
			for _, s := range page.Servers {
				names = append(names, s.Server.Name)
			}
			path = ""
			if page.Metadata.NextCursor != "" {
				path = "/v0.1/servers?version=latest&limit=100&cursor=" + url.QueryEscape(page.Metadata.NextCursor)
			}
		}
		if len(slices.Compact(slices.Sorted(slices.Values(names)))) != len(w.catalog.AllEntries()) || len(names) != len(w.catalog.AllEntries()) {
			t.Errorf("all pages have %d names", len(names))
		}
		var some list
		if w.get(t, "/v0.1/servers?search=STRIPE/&limit=1", 200, &some); some.Metadata.Count != 1 {
			t.Errorf("search: %+v", some)
		}
		since := url.QueryEscape(time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
		if w.get(t, "/v0.1/servers?updated_since="+since, 200, &some); some.Metadata.Count != 0 {
			t.Errorf("%d servers changed in an hour", some.Metadata.Count)
		}
		e, err := w.catalog.EntryByName("stripe", "stripe-local")
		if err != nil {
			t.Fatal(err)
		}
		if err := w.store.SetHidden(t.Context(), e.ID, true); err != nil {
			t.Fatal(err)
		}
		w.load(t)
		w.get(t, "/v0.1/servers/stripe%2Fstripe-local/versions/latest", 404, nil)
		if w.get(t, "/v0.1/servers?search=stripe/stripe-local", 200, &some); some.Metadata.Count != 0 {
			t.Errorf("hidden server is listed: %+v", some)
		}
		var gone list
		w.get(t, "/v0.1/servers?search=stripe/stripe-local&updated_since=2026-01-01T00:00:00Z", 200, &gone)
		if gone.Metadata.Count != 1 || gone.Servers[0].Meta["io.modelcontextprotocol.registry/official"].Status != "deleted" {
			t.Errorf("updated_since: %+v", gone)
		}
	})
}

// TestCatalogImportsItsOwnFormat imports one gateway's registry into another.
func TestCatalogImportsItsOwnFormat(t *testing.T) {
	from, to := onSQLiteCatalog(t), onSQLiteCatalog(t)
	address := listenOn(t, from.app)
	if err := to.store.RemoveSource(t.Context(), "default"); err != nil {
		t.Fatal(err)
	}
	plan, err := to.store.ImportURL(t.Context(), address, catalog.Run{})
	if err != nil {
		t.Fatal(err)
	}
	without := 0 // servers with neither a URL nor a package
	for _, e := range from.catalog.AllEntries() {
		if e.RemoteURL == "" && e.PackageIdentifier == "" {
			without++
		}
	}
	if plan.Added != len(from.catalog.AllEntries())-without || plan.Skipped != without {
		t.Errorf("%d added, %d skipped, want %d skipped: %v", plan.Added, plan.Skipped, without, plan.Warnings)
	}
	to.load(t)
	for _, e := range to.catalog.AllEntries() {
		was, err := from.catalog.EntryByName(e.PublisherName, e.ServerName)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{was.ServerTitle, was.ServerType, was.RemoteURL, was.Description, was.AltRemoteURL}, []string{e.ServerTitle, e.ServerType, e.RemoteURL, e.Description, e.AltRemoteURL}); diff != "" {
			t.Errorf("%s (-there +here):\n%s", was.ServerName, diff)
		}
	}
	if plan, err = to.store.ImportURL(t.Context(), address, catalog.Run{}); err != nil || plan.Changed() {
		t.Errorf("again: %+v (%v)", plan, err)
	}
}

// BenchmarkRegistry measures a whole request without the network: a search, and
// a revalidation of its response.
func BenchmarkRegistry(b *testing.B) {
	w := newCatalogWorld(b, "sqlite:"+filepath.Join(b.TempDir(), "bench.db"))
	ask := func(tag string) *fasthttp.RequestCtx {
		var c fasthttp.RequestCtx
		c.Request.SetRequestURI("http://127.0.0.1:8080/api/registry?query=git")
		c.Request.Header.Set("If-None-Match", tag)
		w.app.Handler()(&c)
		return &c
	}
	tag := string(ask("").Response.Header.Peek("ETag"))
	for name, known := range map[string]string{"search": "", "unchanged": tag} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if c := ask(known); (c.Response.StatusCode() == http.StatusNotModified) != (known != "") {
					b.Fatalf("status %d", c.Response.StatusCode())
				}
			}
		})
	}
}

func TestTemplatesRejectLegacyParameters(t *testing.T) {
	w := onSQLiteCatalog(t)
	for path, want := range map[string]string{
		"/api/templates?offset=3":         "Unknown parameter offset. For the next page, send nextCursor as cursor.",
		"/api/templates?search=x":         "Unknown parameter search. Send the text as query.",
		"/api/templates?tag=x":            "Unknown parameter tag. Send it in query, such as query=tag:search.",
		"/api/templates?query=x&offset=3": "offset cannot be combined with query or cursor. For the next page, send nextCursor as cursor.",
		"/api/registry?query=x&tag=y":     "tag cannot be combined with query or cursor. Send it in query, such as query=tag:search.",
	} {
		var got struct{ Message string }
		w.get(t, path, 400, &got)
		if got.Message != want {
			t.Errorf("%s: %q, want %q", path, got.Message, want)
		}
	}
}
