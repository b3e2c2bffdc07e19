package upstreamtest_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"mcpgateway/services/background/leaktest"
	"mcpgateway/services/upstream/upstreamtest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

const patience = 30 * time.Second

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// client sends raw HTTP; its connections end with the test.
func client(t *testing.T) *http.Client {
	t.Helper()
	tr := &http.Transport{DisableCompression: true}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

type answer struct {
	status int
	header http.Header
	body   string
}

// pendingRequest is one raw HTTP request. Headers are given as "Name: value"; an
// empty value removes a default.
type pendingRequest struct {
	method  string
	url     string
	headers []string
	body    string
}

func (x pendingRequest) request(t *testing.T) *http.Request {
	t.Helper()
	method := x.method
	if method == "" {
		method = http.MethodPost
	}
	r, err := http.NewRequestWithContext(within(t), method, x.url, strings.NewReader(x.body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "application/json, text/event-stream")
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, h := range x.headers {
		name, value, _ := strings.Cut(h, ": ")
		if value == "" {
			r.Header.Del(name)
			continue
		}
		r.Header.Set(name, value)
	}
	return r
}

func (x pendingRequest) do(t *testing.T) answer {
	t.Helper()
	resp, err := client(t).Do(x.request(t))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, string(body)}
}

// open sends the request and returns the streaming response.
func (x pendingRequest) open(t *testing.T) *eventReader {
	t.Helper()
	resp, err := client(t).Do(x.request(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	if ct := resp.Header.Get("Content-Type"); resp.StatusCode != 200 || ct != "text/event-stream" {
		body, _ := io.ReadAll(resp.Body)
		t.Fatalf("response is not an event stream: %d %s: %s", resp.StatusCode, ct, body)
	}
	return &eventReader{t: t, resp: resp, r: bufio.NewReader(resp.Body)}
}

type eventReader struct {
	t    *testing.T
	resp *http.Response
	r    *bufio.Reader
}

type event struct{ name, id, retry, data string }

// next returns the next event; ok is false at the end of the stream.
func (e *eventReader) next() (ev event, ok bool) {
	e.t.Helper()
	var data []string
	for {
		line, err := e.r.ReadString('\n')
		if err != nil {
			return event{}, false
		}
		line = strings.TrimSuffix(line, "\n")
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "" && data == nil && ev == (event{}):
		case line == "":
			ev.data = strings.Join(data, "\n")
			return ev, true
		case name == "data":
			data = append(data, value)
		case name == "event":
			ev.name = value
		case name == "id":
			ev.id = value
		case name == "retry":
			ev.retry = value
		}
	}
}

func (e *eventReader) must() event {
	e.t.Helper()
	ev, ok := e.next()
	if !ok {
		e.t.Fatal("stream ended")
	}
	return ev
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

// session performs the handshake and returns the session header.
func session(t *testing.T, url string) string {
	t.Helper()
	a := pendingRequest{url: url, body: initialize}.do(t)
	id := a.header.Get("Mcp-Session-Id")
	if a.status != 200 || id == "" {
		t.Fatalf("initialize: %d %s", a.status, a.body)
	}
	if a := (pendingRequest{url: url, headers: []string{"Mcp-Session-Id: " + id}, body: `{"jsonrpc":"2.0","method":"notifications/initialized"}`}).do(t); a.status != 202 || a.body != "" {
		t.Fatalf("initialized: %d %q", a.status, a.body)
	}
	return "Mcp-Session-Id: " + id
}

const metaTriple = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"}}`

// modern returns a well-formed request of the stateless era; params are the
// members of params besides _meta.
func modern(url, method, name, params string) pendingRequest {
	if params != "" {
		params = "," + params
	}
	return pendingRequest{
		url:     url,
		headers: []string{"Mcp-Protocol-Version: 2026-07-28", "Mcp-Method: " + method, "Mcp-Name: " + name},
		body:    `{"jsonrpc":"2.0","id":"m1","method":"` + method + `","params":{` + metaTriple + params + `}}`,
	}
}

func call(name, arguments string) string {
	return `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"` + name + `","arguments":` + arguments + `}}`
}

func serve(t *testing.T, o upstreamtest.Options) (*upstreamtest.Server, string) {
	t.Helper()
	s := upstreamtest.New(o)
	return s, s.Start(t)
}

// member returns the raw JSON value at the path of object names.
func member(t *testing.T, raw string, path ...string) string {
	t.Helper()
	v := json.RawMessage(raw)
	for _, name := range path {
		var o map[string]json.RawMessage
		if err := json.Unmarshal(v, &o); err != nil {
			t.Fatalf("%v in %s", err, raw)
		}
		v = o[name]
	}
	return string(bytes.TrimSpace(v))
}

// discard is a response writer that only keeps the status.
type discard struct {
	h      http.Header
	status int
}

func (d *discard) Header() http.Header         { return d.h }
func (d *discard) WriteHeader(status int)      { d.status = status }
func (d *discard) Write(b []byte) (int, error) { return len(b), nil }

func newPost(body string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/mcp", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	return r
}
