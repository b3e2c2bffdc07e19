package embeddings_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/background"
	"mcpgateway/services/background/leaktest"
	"mcpgateway/services/egress"
	"mcpgateway/services/notify"
	"mcpgateway/services/page"
	"mcpgateway/services/secrets"
	"mcpgateway/services/toolsearch"
	"mcpgateway/services/toolsearch/embeddings"
	"mcpgateway/services/toolset"
	"mcpgateway/services/upstream"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

const (
	model   = "bag-of-words"
	theKey  = "the-secret-key"
	dims    = 64
	theTask = `{"task":"file zorb"}`
)

// endpoint is an OpenAI-compatible endpoint whose vectors are hashed bags of
// words, in which zorb and quux are the same word.
type endpoint struct {
	*httptest.Server
	mu      sync.Mutex
	inputs  [][]string // of all requests
	headers http.Header
	reply   func(w http.ResponseWriter, texts []string) // nil sends the vectors
}

func newEndpoint(t testing.TB) *endpoint {
	t.Helper()
	e := &endpoint{}
	e.Server = httptest.NewServer(http.HandlerFunc(e.serve))
	t.Cleanup(e.Close)
	return e
}

func (e *endpoint) serve(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Model string
		Input []string
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil || body.Model != model || r.URL.Path != "/v1/embeddings" || r.Method != http.MethodPost {
		http.Error(w, "not a request for embeddings", http.StatusNotFound)
		return
	}
	e.mu.Lock()
	e.inputs = append(e.inputs, body.Input)
	e.headers = r.Header
	reply := e.reply
	e.mu.Unlock()
	if reply == nil {
		reply = sendVectors
	}
	reply(w, body.Input)
}

// respond replaces the replies of the endpoint.
func (e *endpoint) respond(reply func(w http.ResponseWriter, texts []string)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.reply = reply
}

// sent returns the texts of all requests.
func (e *endpoint) sent() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Concat(e.inputs...)
}

// sendVectors sends the vectors of texts in reverse order, which their indexes
// allow.
func sendVectors(w http.ResponseWriter, texts []string) {
	var data []map[string]any
	for i, text := range slices.Backward(texts) {
		data = append(data, map[string]any{"object": "embedding", "index": i, "embedding": vectorOf(text)})
	}
	send(w, data)
}

func send(w http.ResponseWriter, data any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"object": "list", "data": data})
}

// sendText returns a reply with a body of JSON.
func sendText(body string) func(http.ResponseWriter, []string) {
	return func(w http.ResponseWriter, _ []string) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, body)
	}
}

func vectorOf(text string) []float32 {
	v := make([]float32, dims)
	for word := range strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool { return r < 'a' || r > 'z' }) {
		if word == "zorb" {
			word = "quux"
		}
		h := fnv.New32a()
		_, _ = h.Write([]byte(word))
		v[h.Sum32()%dims]++
	}
	return v
}

// projects are the projects of a process.
type projects struct {
	mu  sync.Mutex
	all []*toolset.Snapshot
}

func (p *projects) All() []*toolset.Snapshot {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.all
}

func (p *projects) set(all ...*toolset.Snapshot) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = all
}

// clock is set by tests.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// lines is a log.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// process is a gateway process with embeddings.
type process struct {
	*embeddings.Embeddings
	db       *gorm.DB
	clock    *clock
	log      *lines
	projects *projects
	search   *toolsearch.Searcher
}

// open opens a database in a process that doesn't run yet. change may be nil.
func open(t testing.TB, dsn, url string, change func(*embeddings.Options)) *process {
	t.Helper()
	p := &process{db: modelstest.Open(t, dsn), clock: &clock{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}, log: &lines{}, projects: &projects{}}
	log := slog.New(slog.NewTextHandler(p.log, nil))
	feed, err := notify.NewFeed(p.db, dsn, log)
	if err != nil {
		t.Fatal(err)
	}
	clients := egress.NewClients(egress.NewGuard([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}))
	o := embeddings.Options{
		URL: url, Model: model, Key: secrets.NewValue(theKey), Client: clients.MCP(), DB: p.db, Feed: feed,
		Projects: p.projects, Now: p.clock.Now, Log: log, Tasks: background.New(log),
	}
	if url != "" {
		o.URL += "/v1"
	}
	if change != nil {
		change(&o)
	}
	p.Embeddings = embeddings.New(o)
	p.search = newSearcher(t, p.Embeddings)
	feed.Subscribe(p.Changed)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = feed.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
		clients.Close()
	})
	return p
}

// run runs the loops of the process: as the one that requests vectors, if leads
// is true.
func (p *process) run(t *testing.T, leads bool) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { p.Run(ctx) })
	if leads {
		running.Go(func() { p.Compute(ctx) })
	}
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
}

// ready returns a running process that has the vectors of the definitions.
func ready(t *testing.T, e *endpoint, definitions ...string) *process {
	t.Helper()
	p := open(t, modelstest.SQLite(t), e.URL, nil)
	p.projects.set(project("p", definitions...))
	p.run(t, true)
	p.await(t, len(definitions))
	return p
}

func (p *process) await(t *testing.T, vectors int) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d vectors", vectors), func() bool { return p.Stats().Vectors == vectors })
}

// find returns the response of the process to arguments.
func (p *process) find(t *testing.T, arguments string) string {
	t.Helper()
	return find(t, p.search, p.projects.All()[0], arguments)
}

// words returns the response without embeddings.
func (p *process) words(t *testing.T, arguments string) string {
	t.Helper()
	return find(t, newSearcher(t, nil), p.projects.All()[0], arguments)
}

func find(t *testing.T, s *toolsearch.Searcher, project *toolset.Snapshot, arguments string) string {
	t.Helper()
	response, err := s.Search(t.Context(), project, toolsearch.Caller{ID: "ada"}, []byte(arguments))
	if err != nil {
		t.Fatal(err)
	}
	return string(response)
}

func newSearcher(t testing.TB, meanings *embeddings.Embeddings) *toolsearch.Searcher {
	t.Helper()
	ring, err := secrets.ParseKeyRing("k1:MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=")
	if err != nil {
		t.Fatal(err)
	}
	o := toolsearch.Options{Cursors: page.NewCursors(ring), Log: slog.New(slog.DiscardHandler)}
	if meanings != nil {
		o.Meanings = meanings
	}
	return toolsearch.NewSearcher(o)
}

// project returns a project with the definitions on the server works.
func project(id string, definitions ...string) *toolset.Snapshot {
	return projectWith(id, nil, definitions...)
}

func projectWith(id string, change func(*models.Server), definitions ...string) *toolset.Snapshot {
	row := models.Server{ID: "id-" + id, Alias: "works", Enabled: true, DefinitionPolicy: models.PolicyFollow}
	if change != nil {
		change(&row)
	}
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	source := toolset.Source{
		Project: models.Project{ID: id, Slug: id}, Servers: []models.Server{row},
		Inventories: map[string]*models.Inventory{row.ID: {ServerID: row.ID, SyncedAt: &now, AttemptedAt: now}},
		Tools:       map[string][]models.Tool{},
	}
	for _, d := range definitions {
		var named struct{ Name string }
		if err := json.Unmarshal([]byte(d), &named); err != nil {
			panic(err)
		}
		source.Tools[row.ID] = append(source.Tools[row.ID], models.Tool{ServerID: row.ID, Name: named.Name, Definition: d, DefinitionHash: toolset.HashDefinition([]byte(d))})
	}
	return toolset.Rebuild(nil, source, func(models.Server) *upstream.Target { return &upstream.Target{} })
}

func tool(name, description string) string {
	raw, _ := json.Marshal(map[string]any{"name": name, "description": description, "inputSchema": map[string]any{"type": "object"}})
	return string(raw)
}

// files are three tools: words rank the first one of theTask first, and meaning
// the second one.
func files() []string {
	return []string{tool("file", "Alpha beta gamma delta epsilon iota kappa lambda"), tool("file_quux", ""), tool("copy", "Copies a file")}
}

// names returns the names of the candidates in a response.
func names(t *testing.T, response string) string {
	t.Helper()
	var decoded struct {
		Candidates []struct {
			Name  string
			Score float64
		}
	}
	if err := json.Unmarshal([]byte(response), &decoded); err != nil {
		t.Fatal(err)
	}
	var out []string
	last := 2.0
	for _, c := range decoded.Candidates {
		if out = append(out, strings.TrimPrefix(c.Name, "works__")); c.Score > last && last < 2 || c.Score <= 0 {
			t.Errorf("scores are not in order: %s", response)
		}
		last = c.Score
	}
	return strings.Join(out, " ")
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		if time.Now().After(deadline) {
			t.Fatalf("timeout waiting for: %s", what)
		}
		<-tick.C
	}
}
