package embeddings_test

import (
	"fmt"
	"net/http"
	"runtime"
	"testing"

	"mcpgateway/models/modelstest"
	"mcpgateway/services/toolsearch"
)

// BenchmarkMeaning searches 50,000 tools with vectors of 1,536 dimensions for a
// task whose vector is cached: with and without words that match.
func BenchmarkMeaning(b *testing.B) {
	const tools, dimensions = 50_000, 1536
	e := newEndpoint(b)
	e.respond(func(w http.ResponseWriter, texts []string) {
		v := make([]float32, dimensions)
		v[0], v[1] = 1, .5
		send(w, []map[string]any{{"index": 0, "embedding": v}})
	})
	p := open(b, modelstest.SQLite(b), e.URL, nil)
	definitions := make([]string, tools)
	for i := range definitions {
		definitions[i] = tool(fmt.Sprintf("thing_%d", i), fmt.Sprintf("Changes the thing number %d of %d", i, i%100))
	}
	p.projects.set(project("p", definitions...))
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	p.Fill(dimensions)
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.Logf("%d vectors: %d MB of heap, %d MB counted", p.Stats().Vectors, (after.HeapAlloc-before.HeapAlloc)>>20, p.Stats().Bytes>>20)
	for name, task := range map[string]string{"words": "change a thing", "no words": "zorb quux"} {
		for kind, s := range map[string]*toolsearch.Searcher{"meaning": p.search, "only words": newSearcher(b, nil)} {
			b.Run(name+"/"+kind, func(b *testing.B) {
				arguments := []byte(fmt.Sprintf(`{"task":%q}`, task))
				for range 2 { // the first search requests the vector
					if _, err := s.Search(b.Context(), p.projects.All()[0], toolsearch.Caller{ID: "ada"}, arguments); err != nil {
						b.Fatal(err)
					}
				}
				for b.Loop() {
					if _, err := s.Search(b.Context(), p.projects.All()[0], toolsearch.Caller{ID: "ada"}, arguments); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
