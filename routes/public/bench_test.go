package public_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"testing"
	"time"

	"mcpgateway/models/modelstest"
	"mcpgateway/routes/routestest"
	"mcpgateway/web/webtest"
)

// benchRows is the size of the catalog of BenchmarkPages.
const benchRows = 10_000

// largeCatalog returns an application with benchRows more rows, and the time of
// their import.
func largeCatalog(tb testing.TB) (*routestest.App, time.Duration) {
	tb.Helper()
	a := routestest.New(tb, modelstest.SQLite(tb), "GATEWAY_TRUSTED_PROXIES=0.0.0.0/32")
	file := manyServers(tb)
	began := time.Now()
	plan, err := a.Services.CatalogStore.ImportFile(tb.Context(), file, false)
	took := time.Since(began)
	if err != nil || plan.Added != benchRows {
		tb.Fatalf("added %d rows: %v", plan.Added, err)
	}
	if err := a.Services.Catalog.Load(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	return a, took
}

// maxHTML is the maximum size of a page for visitors in bytes, as in the browser
// tests.
const maxHTML = 60_000

func TestSizeOfPagesWithManyRows(t *testing.T) {
	a, _ := largeCatalog(t)
	for _, path := range []string{
		"/registry", fmt.Sprintf("/registry?works=0&page=%d", benchRows/24), query("/registry", "database"), query("/registry", "tag:search"),
		query("/registry", "how do I book a flihgt to Paris"), query("/registry", "zzzzzzzz"), "/templates",
	} {
		got := webtest.Send(t, a.App, webtest.Case{Path: path, Header: map[string]string{"Accept": "text/html", "X-Forwarded-For": uniqueAddress()}})
		if got.Status != http.StatusOK || len(got.Body) > maxHTML {
			t.Errorf("%s: status %d, %d bytes, want at most %d", path, got.Status, len(got.Body), maxHTML)
		}
	}
}

// BenchmarkPages measures the import of a catalog and its pages, as visitors and
// signed-in people load them. first is the first page of closest servers after
// a change, which builds their index.
func BenchmarkPages(b *testing.B) {
	a, took := largeCatalog(b)
	cookie, _ := administrator(b, a)
	load := func(path string, cookie string) time.Duration {
		request := httptest.NewRequest("GET", path, nil)
		request.Host = "127.0.0.1:8080"
		request.Header.Set("Accept", "text/html")
		request.Header.Set("X-Forwarded-For", uniqueAddress())
		request.Header.Set("Cookie", cookie)
		began := time.Now()
		response, err := a.App.Test(request, -1)
		if err != nil {
			b.Fatal(err)
		}
		defer response.Body.Close()
		if _, err := io.Copy(io.Discard, response.Body); err != nil || response.StatusCode != 200 {
			b.Fatalf("GET %s: status %d, %v", path, response.StatusCode, err)
		}
		return time.Since(began)
	}
	first := load(query("/registry", "posgres"), "")
	b.Run("import", func(b *testing.B) {
		for b.Loop() {
		}
		b.ReportMetric(float64(took.Milliseconds()), "import-ms")
		b.ReportMetric(float64(first.Microseconds())/1000, "first-ms")
	})
	for name, path := range map[string]string{
		"all": "/registry", "last": fmt.Sprintf("/registry?works=0&page=%d", benchRows/24), "word": query("/registry", "database"),
		"tag": query("/registry", "tag:search"), "typo": query("/registry", "posgres"), "sentence": query("/registry", "how do I book a flihgt to Paris"),
		"nothing": query("/registry", "zzzzzzzz"), "api": "/api" + query("/registry", "posgres"),
	} {
		for who, cookie := range map[string]string{"visitor": "", "person": cookie} {
			b.Run(name+"/"+who, func(b *testing.B) {
				var durations []time.Duration
				for b.Loop() {
					durations = append(durations, load(path, cookie))
				}
				slices.Sort(durations)
				b.ReportMetric(float64(durations[len(durations)/2].Microseconds())/1000, "p50-ms")
				b.ReportMetric(float64(durations[len(durations)*95/100].Microseconds())/1000, "p95-ms")
			})
		}
	}
}

// manyServers returns an import file of benchRows servers, which are the built-in
// ones with other names.
func manyServers(tb testing.TB) []byte {
	tb.Helper()
	raw, err := os.ReadFile("../../services/catalog/data/registry.json")
	if err != nil {
		tb.Fatal(err)
	}
	var file struct {
		Version int              `json:"version"`
		Items   []map[string]any `json:"items"`
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		tb.Fatal(err)
	}
	seed := file.Items
	file.Items = nil
	for i := range benchRows {
		item := maps.Clone(seed[i%len(seed)])
		delete(item, "id")
		item["serverName"] = fmt.Sprintf("%s-%d", item["serverName"], i)
		item["serverTitle"] = fmt.Sprintf("%s %d", item["serverTitle"], i/len(seed))
		item["description"] = fmt.Sprintf("%s Variant v%05d.", item["description"], i)
		file.Items = append(file.Items, item)
	}
	if raw, err = json.Marshal(file); err != nil {
		tb.Fatal(err)
	}
	return raw
}
