package routes_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"mcpgateway/models/modelstest"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/upstream/upstreamtest"
)

// embedder is an embeddings endpoint for which zorb and quux mean the same.
type embedder struct {
	*httptest.Server
	mu    sync.Mutex
	texts []string
}

func newEmbedder(t *testing.T) *embedder {
	t.Helper()
	e := &embedder{}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct{ Input []string }
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil || r.URL.Path != "/embeddings" {
			http.Error(w, "", http.StatusNotFound)
			return
		}
		e.mu.Lock()
		e.texts = append(e.texts, body.Input...)
		e.mu.Unlock()
		var data []map[string]any
		for i, text := range body.Input {
			v := []int{1, 0}
			if strings.Contains(text, "zorb") || strings.Contains(text, "quux") {
				v = []int{0, 1}
			}
			data = append(data, map[string]any{"index": i, "embedding": v})
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"data": data})
	}))
	t.Cleanup(e.Close)
	return e
}

func (e *embedder) sent() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.texts)
}

// searchApp returns an application whose project p has two tools.
func searchApp(t *testing.T, dsn string, settings ...string) *routestest.App {
	t.Helper()
	up := upstreamtest.New(upstreamtest.Options{Name: "up", Tools: []upstreamtest.Tool{
		{Definition: `{"name":"quux","description":"Nothing else.","inputSchema":{"type":"object"}}`},
		{Definition: `{"name":"other","description":"Nothing at all.","inputSchema":{"type":"object"}}`},
	}})
	a := routestest.New(t, dsn, settings...)
	a.Apply(t, fmt.Sprintf(`{"projects":{"p":{"authMode":"none","mcpServers":{"up":{"url":%q}}}}}`, up.Start(t)))
	a.Sync(t, "p", "up")
	return a
}

// findZorb returns the response to a task whose word is in no tool.
func findZorb(t *testing.T, a *routestest.App) string {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, "/v1/mcp/p/request", strings.NewReader(
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"gateway_searchMcpForTask","arguments":{"task":"zorb"}}}`))
	r.Host = "127.0.0.1:8080"
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	response, err := a.Test(r, -1)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK || !strings.Contains(string(body), `"total":`) {
		t.Fatalf("search: %d %s %v", response.StatusCode, body, err)
	}
	return string(body)
}

func TestSearchByMeaning(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		e := newEmbedder(t)
		a := searchApp(t, dsn, "GATEWAY_EMBEDDINGS_URL="+e.URL+"/", "GATEWAY_EMBEDDINGS_MODEL=two-words", "GATEWAY_EMBEDDINGS_KEY=the-secret-key")
		routestest.Eventually(t, "a tool of the same meaning", func() bool { return strings.Contains(findZorb(t, a), `"topTool":"up__quux"`) })
		if sent := e.sent(); len(sent) != 3 || sent[0] != "quux\nNothing else." || sent[1] != "other\nNothing at all." || sent[2] != "zorb" {
			t.Errorf("sent %q", sent)
		}
		_, _, metrics := readMetrics(t, a.App, "127.0.0.1:8080")
		for _, want := range []string{`gateway_search_embeddings_total{result="used"}`, "gateway_search_vectors 2", "gateway_search_vector_bytes 164"} {
			if !strings.Contains(metrics, want) {
				t.Errorf("%s is not in the metrics", want)
			}
		}
		if log := a.Log.String(); strings.Contains(log, "the-secret-key") {
			t.Error("the key is in the log")
		}
	})
}

func TestMeaningRequiresAllowedAddress(t *testing.T) {
	a := searchApp(t, modelstest.SQLite(t), "GATEWAY_EMBEDDINGS_URL=http://127.0.0.2:1", "GATEWAY_EMBEDDINGS_MODEL=two-words", "GATEWAY_EGRESS_ALLOW=127.0.0.1")
	routestest.Eventually(t, "the refused address in the log", func() bool {
		log := a.Log.String()
		return strings.Contains(log, `"msg":"embeddings failed"`) && strings.Contains(log, "connections to 127.0.0.2 are not allowed")
	})
	if got := findZorb(t, a); !strings.Contains(got, `"total":0`) {
		t.Errorf("found %s", got)
	}
}

func TestMeaningIsOffByDefault(t *testing.T) {
	a := searchApp(t, modelstest.SQLite(t))
	if got := findZorb(t, a); !strings.Contains(got, `"total":0`) {
		t.Errorf("found %s", got)
	}
	if _, _, metrics := readMetrics(t, a.App, "127.0.0.1:8080"); strings.Contains(metrics, "gateway_search_") {
		t.Error("metrics of embeddings are present")
	}
}
