package embeddings_test

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/toolsearch/embeddings"
)

func TestMeaningChangesOrder(t *testing.T) {
	p := ready(t, newEndpoint(t), files()...)
	if got := names(t, p.words(t, theTask)); got != "file file_quux copy" {
		t.Fatalf("by words: %s", got)
	}
	response := p.find(t, theTask)
	if got := names(t, response); got != "file_quux file copy" || !strings.Contains(response, `"topTool":"works__file_quux"`) || !strings.Contains(response, `"total":3`) {
		t.Errorf("by meaning: %s", response)
	}
	if s := p.Stats(); s.Used != 1 || s.Failed+s.Late+s.Skipped != 0 {
		t.Errorf("stats: %+v", s)
	}
}

// TestPagesHaveOneOrder reads the pages of a task one by one. Only the first one
// requests its vector.
func TestPagesHaveOneOrder(t *testing.T) {
	e := newEndpoint(t)
	p := ready(t, e, files()...)
	before := len(e.sent())
	var got []string
	for offset := range 3 {
		got = append(got, names(t, p.find(t, fmt.Sprintf(`{"task":"file zorb","limit":1,"offset":%d}`, offset))))
	}
	if strings.Join(got, " ") != "file_quux file copy" {
		t.Errorf("pages: %s", got)
	}
	if n := len(e.sent()) - before; n != 1 {
		t.Errorf("%d requests", n)
	}
}

// TestOnlyFirstResultsAreReordered has more results than are reordered. The one
// with the meaning of the task is the last of those, and after them.
func TestOnlyFirstResultsAreReordered(t *testing.T) {
	for _, before := range []int{48, 49, 50} {
		var definitions []string
		for i := range 60 {
			name := fmt.Sprintf("thing_%02d", i)
			if i == before {
				name += "_quux"
			}
			definitions = append(definitions, tool(name, "file"))
		}
		p := ready(t, newEndpoint(t), definitions...)
		words := strings.Fields(names(t, p.words(t, `{"task":"file zorb","limit":20,"offset":40}`)))
		position := 40 + slices.IndexFunc(words, func(name string) bool { return strings.HasSuffix(name, "quux") })
		moved := !strings.HasSuffix(names(t, p.find(t, fmt.Sprintf(`{"task":"file zorb","limit":1,"offset":%d}`, position))), "quux")
		if want := position < 50; moved != want {
			t.Errorf("the tool at %d moved: %v, want %v", position, moved, want)
		}
	}
}

func TestMeaningFindsWhereNoWordMatches(t *testing.T) {
	p := ready(t, newEndpoint(t), append(files(), tool("other", "Something else"))...)
	const task = `{"task":"zorb"}`
	if words := p.words(t, task); !strings.Contains(words, `"total":0`) {
		t.Fatalf("by words: %s", words)
	}
	response := p.find(t, task)
	if got := names(t, response); !strings.HasPrefix(got+" ", "file_quux ") || strings.Contains(got, "other") {
		t.Errorf("by meaning: %s", response)
	}
	for server, found := range map[string]bool{"works": true, "absent": false} {
		response := p.find(t, fmt.Sprintf(`{"task":"zorb","server":%q}`, server))
		if strings.Contains(response, "works__file_quux") != found {
			t.Errorf("on server %s: %s", server, response)
		}
	}
}

func TestSuggestionsAreLimited(t *testing.T) {
	for _, n := range []int{19, 20, 21} {
		var definitions []string
		for i := range n {
			definitions = append(definitions, tool(fmt.Sprintf("quux_%02d", i), ""))
		}
		response := ready(t, newEndpoint(t), definitions...).find(t, `{"task":"zorb","limit":20}`)
		if want := fmt.Sprintf(`"total":%d,`, min(n, 20)); !strings.Contains(response, want) {
			t.Errorf("of %d tools: %.100s", n, response)
		}
	}
}

func TestQueriesIgnoreMeaning(t *testing.T) {
	e := newEndpoint(t)
	p := ready(t, e, files()...)
	before := len(e.sent())
	const query = `{"query":"file"}`
	if got, want := p.find(t, query), p.words(t, query); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if len(e.sent()) != before {
		t.Error("a query left the gateway")
	}
}

// TestFailuresLeaveOrderOfWords has an endpoint that fails in every way while a
// task is searched.
func TestFailuresLeaveOrderOfWords(t *testing.T) {
	long := make([]float32, embeddings.MaxDimensions+1)
	long[0] = 1
	vectors := func(all ...any) func(http.ResponseWriter, []string) {
		return func(w http.ResponseWriter, _ []string) {
			data := make([]map[string]any, len(all))
			for i, v := range all {
				data[i] = map[string]any{"index": i, "embedding": v}
			}
			send(w, data)
		}
	}
	for name, reply := range map[string]func(http.ResponseWriter, []string){
		"error":       func(w http.ResponseWriter, _ []string) { http.Error(w, theKey, http.StatusInternalServerError) },
		"refused":     func(w http.ResponseWriter, _ []string) { http.Error(w, "", http.StatusBadRequest) },
		"not allowed": func(w http.ResponseWriter, _ []string) { http.Error(w, "", http.StatusUnauthorized) },
		"redirect": func(w http.ResponseWriter, _ []string) {
			w.Header().Set("Location", "http://127.0.0.1:1/")
			w.WriteHeader(307)
		},
		"closed":              func(http.ResponseWriter, []string) { panic(http.ErrAbortHandler) },
		"no vectors":          vectors(),
		"two vectors":         vectors(vectorOf("file"), vectorOf("file")),
		"an empty vector":     vectors([]float32{}),
		"a zero vector":       vectors(make([]float32, dims)),
		"too many dimensions": vectors(long),
		"other dimensions":    vectors(vectorOf("file")[:dims-1]),
		"texts":               vectors([]string{"1", "2"}),
		"huge numbers":        sendText(`{"data":[{"index":0,"embedding":[1e999,1]}]}`),
		"index below":         sendText(`{"data":[{"index":-1,"embedding":[1]}]}`),
		"index above":         sendText(`{"data":[{"index":1,"embedding":[1]}]}`),
		"half a document":     sendText(`{"data":[{"index":0,`),
		"null":                sendText(`null`),
		"nothing":             sendText(``),
		"a page": func(w http.ResponseWriter, _ []string) {
			_, _ = io.WriteString(w, "<!doctype html><title>Hello</title>")
		},
		"a huge response": func(w http.ResponseWriter, _ []string) {
			w.Header().Set("Content-Type", "application/json")
			for range 1 << 10 {
				if _, err := io.WriteString(w, strings.Repeat(" ", 1<<10)); err != nil {
					return
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEndpoint(t)
			p := ready(t, e, files()...)
			before := len(e.sent())
			e.respond(reply)
			if got, want := p.find(t, theTask), p.words(t, theTask); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
			if len(e.sent()) != before+1 || p.Stats().Failed != 1 {
				t.Errorf("the task was not sent once: %v, %+v", e.sent()[before:], p.Stats())
			}
			if log := p.log.String(); strings.Count(log, "embeddings failed") != 1 || strings.Contains(log, theKey) || strings.Contains(log, e.URL) {
				t.Errorf("log: %s", log)
			}
			e.respond(nil)
			if got := names(t, p.find(t, theTask)); got != "file_quux file copy" {
				t.Errorf("after the failure: %s", got)
			}
		})
	}
}

// TestLateVectorServesNextSearch has an endpoint that responds after the deadline.
func TestLateVectorServesNextSearch(t *testing.T) {
	e := newEndpoint(t)
	p := ready(t, e, files()...)
	respond := make(chan struct{})
	e.respond(func(w http.ResponseWriter, texts []string) {
		<-respond
		sendVectors(w, texts)
	})
	started := time.Now()
	got := p.find(t, theTask)
	if took := time.Since(started); took < embeddings.Deadline {
		t.Errorf("the search did not wait for its deadline: %v", took)
	}
	if want := p.words(t, theTask); got != want || p.Stats().Late != 1 {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	close(respond)
	eventually(t, "the order by meaning", func() bool { return names(t, p.find(t, theTask)) == "file_quux file copy" })
	if n := strings.Count(strings.Join(e.sent(), "\n"), "file zorb"); n != 1 {
		t.Errorf("the task was sent %d times", n)
	}
}

// TestConcurrentTasksAreLimited has an endpoint that doesn't respond.
func TestConcurrentTasksAreLimited(t *testing.T) {
	e := newEndpoint(t)
	p := ready(t, e, files()...)
	before := len(e.sent())
	respond := make(chan struct{})
	e.respond(func(w http.ResponseWriter, texts []string) {
		<-respond
		sendVectors(w, texts)
	})
	for i := range embeddings.MaxQueries + 1 {
		p.Begin(t.Context(), fmt.Sprintf("task %d", i))
	}
	p.Begin(t.Context(), "task 0")
	if s := p.Stats(); s.Skipped != 1 {
		t.Errorf("skipped %d tasks", s.Skipped)
	}
	eventually(t, "requests", func() bool { return len(e.sent())-before == embeddings.MaxQueries })
	close(respond)
}

func TestRepeatedFailuresPauseTasks(t *testing.T) {
	e := newEndpoint(t)
	p := ready(t, e, files()...)
	e.respond(func(w http.ResponseWriter, _ []string) { http.Error(w, "", http.StatusBadGateway) })
	before := len(e.sent())
	searches := 0
	search := func() {
		searches++
		p.find(t, fmt.Sprintf(`{"task":"file %d"}`, searches))
	}
	for range embeddings.MaxFailures + 3 {
		search()
	}
	if n := len(e.sent()) - before; n != embeddings.MaxFailures {
		t.Fatalf("%d tasks were sent, want %d", n, embeddings.MaxFailures)
	}
	if s := p.Stats(); s.Failed != embeddings.MaxFailures || s.Skipped != 3 {
		t.Errorf("stats: %+v", s)
	}
	for _, step := range []struct {
		advance time.Duration
		sent    int
	}{{embeddings.Pause - time.Millisecond, 0}, {time.Millisecond, 1}, {embeddings.Pause - time.Millisecond, 1}} {
		p.clock.advance(step.advance)
		search()
		search()
		if n := len(e.sent()) - before - embeddings.MaxFailures; n != step.sent {
			t.Errorf("%d tasks were sent, want %d", n, step.sent)
		}
	}
	e.respond(nil)
	p.clock.advance(time.Millisecond)
	search()
	search()
	if s := p.Stats(); s.Used != 2 {
		t.Errorf("after a success: %+v", s)
	}
	if n := strings.Count(p.log.String(), "embeddings failed"); n != 1 {
		t.Errorf("%d lines of the log within 5 minutes: %s", n, p.log)
	}
}

func TestSentTexts(t *testing.T) {
	e := newEndpoint(t)
	p := open(t, modelstest.SQLite(t), e.URL, nil)
	const issue = `{"name":"create_issue","title":"New issue","description":"Opens a ticket.","inputSchema":{"type":"object","properties":{"title":{"type":"string","description":"secret hint"},"labels":{"type":"array"}}}}`
	long := strings.Repeat("é", embeddings.MaxTextBytes)
	p.projects.set(
		projectWith("p", func(s *models.Server) { s.DenyTools = []string{"hidden"} }, issue, tool("hidden", "Hidden text"), tool("long", long)),
		project("q", issue, tool("list", "")))
	p.run(t, true)
	p.await(t, 3)
	sent := e.sent()
	if len(sent) != 3 || sent[0] != "create issue\nNew issue\nOpens a ticket.\ntitle, labels" || sent[2] != "list" {
		t.Errorf("sent %.200q", sent)
	}
	if text := sent[1]; len(text) > embeddings.MaxTextBytes || len(text) < embeddings.MaxTextBytes-1 || !strings.HasPrefix(text, "long\né") || strings.ContainsRune(text, '�') {
		t.Errorf("a long text has %d bytes", len(text))
	}
	if got := e.headers.Get("Authorization"); got != "Bearer "+theKey {
		t.Errorf("Authorization: %s", got)
	}
}

func TestWithoutURLNothingIsSent(t *testing.T) {
	e := newEndpoint(t)
	p := open(t, modelstest.SQLite(t), "", func(o *embeddings.Options) { o.Model = "" })
	p.projects.set(project("p", files()...))
	p.Run(t.Context()) // returns at once
	p.Compute(t.Context())
	if got, want := p.find(t, theTask), p.words(t, theTask); got != want || p.On() || len(e.sent()) != 0 {
		t.Errorf("got %s, sent %q", got, e.sent())
	}
}

// TestReplicasShareVectors has a second process that reads the vectors of the
// first one and requests none.
func TestReplicasShareVectors(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		e := newEndpoint(t)
		leader, other := open(t, dsn, e.URL, nil), open(t, dsn, e.URL, nil)
		many := files()
		for i := range 2 * embeddings.BatchSize {
			many = append(many, tool(fmt.Sprintf("thing_%d", i), ""))
		}
		for _, p := range []*process{other, leader} {
			p.projects.set(project("p", many...))
		}
		other.run(t, false)
		leader.run(t, true)
		leader.await(t, len(many))
		other.await(t, len(many))
		if got := names(t, other.find(t, theTask)); !strings.HasPrefix(got, "file_quux file copy") {
			t.Errorf("by meaning: %s", got)
		}
		if n := len(e.sent()); n != len(many)+1 {
			t.Errorf("%d texts were sent for %d tools", n, len(many))
		}
		again := open(t, dsn, e.URL, nil)
		again.projects.set(project("p", many...))
		again.run(t, true)
		again.await(t, len(many))
		if n := len(e.sent()); n != len(many)+1 {
			t.Errorf("a restart requested %d texts again", n-len(many)-1)
		}
	})
}

func TestSweepDeletesUnusedVectors(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		e := newEndpoint(t)
		p := open(t, dsn, e.URL, nil)
		p.projects.set(project("p", files()...))
		p.run(t, true)
		p.await(t, 3)
		rows := func() (n int64) {
			if err := p.db.Model(&models.Embedding{}).Count(&n).Error; err != nil {
				t.Fatal(err)
			}
			return n
		}
		sweep := func(p *process, want int64) {
			t.Helper()
			if err := p.Sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
			if n := rows(); n != want {
				t.Errorf("%d rows after a sweep, want %d", n, want)
			}
		}
		p.projects.set(project("p", files()[0]))
		p.clock.advance(embeddings.UnusedFor - time.Millisecond)
		sweep(p, 3)
		p.clock.advance(time.Millisecond)
		sweep(p, 1)
		next := open(t, dsn, e.URL, func(o *embeddings.Options) { o.Model = "another" })
		next.projects.set(project("p", files()[0]))
		sweep(next, 1)
		next.clock.advance(embeddings.UnusedFor)
		sweep(next, 0)
	})
}

// TestRefusedTextsDontBlockOthers has an endpoint that refuses every request with
// one of the texts.
func TestRefusedTextsDontBlockOthers(t *testing.T) {
	e := newEndpoint(t)
	e.respond(func(w http.ResponseWriter, texts []string) {
		if slices.Contains(texts, "poison") {
			http.Error(w, "", http.StatusRequestEntityTooLarge)
			return
		}
		sendVectors(w, texts)
	})
	ready := open(t, modelstest.SQLite(t), e.URL, nil)
	ready.projects.set(project("p", append(files(), tool("poison", ""))...))
	ready.run(t, true)
	ready.await(t, 3)
	if got := names(t, ready.find(t, theTask)); got != "file_quux file copy" {
		t.Errorf("by meaning: %s", got)
	}
}

func TestMemoryIsLimited(t *testing.T) {
	const size = dims + embeddings.VectorOverhead
	for limit, want := range map[int]int{3*size - 1: 2, 3 * size: 3, 3*size + 1: 3} {
		dsn, e := modelstest.SQLite(t), newEndpoint(t)
		p := open(t, dsn, e.URL, nil)
		p.LimitMemory(limit)
		p.projects.set(project("p", append(files(), tool("fourth", ""))...))
		p.run(t, true)
		p.await(t, want)
		if s := p.Stats(); s.Bytes > limit || s.Bytes != want*size {
			t.Errorf("%+v within %d bytes", s, limit)
		}
		p.find(t, theTask)
	}
}

func TestVectorsOfGoneToolsLeaveMemory(t *testing.T) {
	p := ready(t, newEndpoint(t), files()...)
	p.projects.set(project("p", files()[1]))
	if err := p.Changed(t.Context(), "toolset:p"); err != nil {
		t.Fatal(err)
	}
	p.await(t, 1)
	if s := p.Stats(); s.Bytes != dims+embeddings.VectorOverhead {
		t.Errorf("stats: %+v", s)
	}
}

func TestStoredCosines(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 2, 3, 7, 384, 1536, embeddings.MaxDimensions} {
		for range 20 {
			a, b := make([]float32, n), make([]float32, n)
			var ab, aa, bb float64
			for i := range n {
				a[i], b[i] = float32(random.NormFloat64()), float32(random.NormFloat64())
				b[i] += a[i] / 2
				ab, aa, bb = ab+float64(a[i]*b[i]), aa+float64(a[i]*a[i]), bb+float64(b[i]*b[i])
			}
			got, err := embeddings.Cosine(a, b)
			if want := ab / math.Sqrt(aa*bb); err != nil || math.Abs(got-want) > 0.01 {
				t.Errorf("%d dimensions: cosine %v, want %v; %v", n, got, want, err)
			}
		}
	}
	if _, err := embeddings.Cosine(make([]float32, embeddings.MaxDimensions+1), []float32{1}); err == nil {
		t.Error("a vector with too many dimensions was accepted")
	}
}
