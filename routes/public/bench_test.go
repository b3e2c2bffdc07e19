package public_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http/httptest"
	"os"
	"slices"
	"testing"
	"time"

	"mcpgateway/models/modelstest"
	"mcpgateway/routes/routestest"
)

// benchRows is the size of the catalog of BenchmarkPages.
const benchRows = 10_000

// BenchmarkPages measures the import of a catalog and its pages, as visitors and
// signed-in people load them. first is the first page of closest servers after
// a change, which builds their index.
func BenchmarkPages(b *testing.B) {
	a := routestest.New(b, modelstest.SQLite(b), "GATEWAY_TRUSTED_PROXIES=0.0.0.0/32")
	file := manyServers(b)
	began := time.Now()
	plan, err := a.Services.CatalogStore.ImportFile(b.Context(), file, false)
	took := time.Since(began)
	if err != nil || plan.Added != benchRows {
		b.Fatalf("added %d rows: %v", plan.Added, err)
	}
	if err := a.Services.Catalog.Load(b.Context()); err != nil {
		b.Fatal(err)
	}
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
