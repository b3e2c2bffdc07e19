package upstreamtest_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mcpgateway/services/rawjson"
	"mcpgateway/services/upstream/upstreamtest"
)

// run calls a tool over the wire and returns the raw result.
func run(t *testing.T, tools []upstreamtest.Tool, name, arguments string) string {
	t.Helper()
	_, url := serve(t, upstreamtest.Options{Tools: tools, Eras: []upstreamtest.Era{upstreamtest.Era20251125}, Sessionless: true})
	a := pendingRequest{url: url, body: call(name, arguments)}.do(t)
	if raw := member(t, a.body, "result"); raw != "" {
		return raw
	}
	return member(t, a.body, "error")
}

func TestBuiltinTools(t *testing.T) {
	const filler = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_"
	text := func(s string) string { return `{"content":[{"type":"text","text":"` + s + `"}]}` }
	for _, tc := range []struct{ tool, arguments, want string }{
		{"echo", `{"text":"a\u0062\/ é"}`, text(`a\u0062\/ é`)},
		{"echo", `{"text":1}`, `{"code":-32602,"message":"Invalid params: text must be a string"}`},
		{"add", `{"a":1.5,"b":2}`, `{"content":[{"type":"text","text":"{\"sum\":3.5}"}],"structuredContent":{"sum":3.5}}`},
		{"add", `{"a":1}`, `{"code":-32602,"message":"Invalid params: a and b must be numbers"}`},
		{"add", `{"a":1e308,"b":1e308}`, `{"content":[{"type":"text","text":"The sum is not a number that JSON can hold."}],"isError":true}`},
		{"sleep", `{"ms":1}`, text("slept")},
		{"sleep", `{"ms":-1}`, `{"code":-32602,"message":"Invalid params: ms must be an integer from 0 to 3600000"}`},
		{"big", `{"bytes":0}`, text("")},
		{"big", `{"bytes":65}`, text(filler + "0")},
		{"big", `{"bytes":33554433}`, `{"code":-32602,"message":"Invalid params: bytes must be an integer from 0 to 33554432"}`},
		{"fail", `{}`, `{"content":[{"type":"text","text":"this tool always fails"}],"isError":true}`},
		{"progress", `{"n":2}`, text("sent 0")},
		{"progress", `{"n":1.5}`, `{"code":-32602,"message":"Invalid params: n must be an integer from 0 to 100000"}`},
		{"progress", `{"n":100000}`, text("sent 0")},
		{"progress", `{"n":100001}`, `{"code":-32602,"message":"Invalid params: n must be an integer from 0 to 100000"}`},
		{"sleep", `{"ms":3600001}`, `{"code":-32602,"message":"Invalid params: ms must be an integer from 0 to 3600000"}`},
		{"find_task", `{"task_id":"T"}`, text(`{\"tool\":\"find_task\",\"arguments\":{\"task_id\":\"T\"}}`)},
	} {
		if got := run(t, upstreamtest.Standard(7), tc.tool, tc.arguments); got != tc.want {
			t.Errorf("%s %s = %s, want %s", tc.tool, tc.arguments, got, tc.want)
		}
	}
	_, url := serve(t, upstreamtest.Options{Tools: upstreamtest.Standard(3)})
	a := pendingRequest{url: url, body: call("big", `{"bytes":33554432}`), headers: []string{session(t, url)}}.do(t)
	if want := len(`{"jsonrpc":"2.0","id":7,"result":}`+text("")) + 33554432; a.status != 200 || len(a.body) != want {
		t.Errorf("largest text: status %d with %d bytes, want %d", a.status, len(a.body), want)
	}
}

func TestStandardToolCount(t *testing.T) {
	for _, n := range []int{-1, 0, 1, 5, 6, 7, 100} {
		if got := len(upstreamtest.Standard(n)); got != max(n, 0) {
			t.Errorf("Standard(%d) has %d tools", n, got)
		}
	}
}

func TestGeneratedTools(t *testing.T) {
	tools := upstreamtest.Generated(1000)
	names := map[string]bool{}
	for i, tool := range tools {
		d := checkDefinition(t, tool.Definition)
		if names[d.Name] {
			t.Fatalf("duplicate tool %s", d.Name)
		}
		names[d.Name] = true
		if n := len(tool.Definition); n < 400 || n > 1300 {
			t.Errorf("%s has %d bytes: %s", d.Name, n, tool.Definition)
		}
		if i < 10 && tool.Definition != upstreamtest.Generated(10)[i].Definition {
			t.Errorf("tool %d depends on the number of tools", i)
		}
	}
}

// checkDefinition checks that the official types accept the definition and that
// its schemas resolve.
func checkDefinition(t *testing.T, raw string) *mcp.Tool {
	t.Helper()
	if err := rawjson.Valid([]byte(raw), rawjson.Strict); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	var d mcp.Tool
	if err := json.Unmarshal([]byte(raw), &d); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	if d.Name == "" || d.Description == "" {
		t.Errorf("name or description is missing in %s", raw)
	}
	resolve(t, d.InputSchema)
	return &d
}

func resolve(t *testing.T, schema any) *jsonschema.Resolved {
	t.Helper()
	raw, err := json.Marshal(schema)
	if err != nil {
		t.Fatal(err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(raw, &s); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	return r
}

func TestDefinitionsAreListedUnchanged(t *testing.T) {
	tools := upstreamtest.Hostile()
	tools = append(tools, upstreamtest.Tool{Definition: `{"broken`}, upstreamtest.Tool{Definition: `{"name":"case","second":true}`})
	var want []string
	for _, tool := range tools {
		want = append(want, tool.Definition)
	}
	s, url := serve(t, upstreamtest.Options{Tools: tools})
	for _, x := range []pendingRequest{{url: url, body: list, headers: []string{session(t, url)}}, modern(url, "tools/list", "", "")} {
		for _, mode := range []upstreamtest.ResponseMode{upstreamtest.AnswerJSON, upstreamtest.AnswerSSE} {
			s.SetAnswer(mode)
			var body string
			if mode == upstreamtest.AnswerSSE {
				body = x.open(t).must().data
			} else {
				body = x.do(t).body
			}
			if joined := `"tools":[` + strings.Join(want, ",") + `]`; !strings.Contains(body, joined) {
				t.Errorf("mode %d: definitions changed: %s", mode, body)
			}
		}
	}
}

func TestHostileTools(t *testing.T) {
	results := upstreamtest.HostileResults()
	names := map[string]bool{}
	for _, tool := range upstreamtest.Hostile() {
		o, err := rawjson.ParseObject([]byte(tool.Definition), rawjson.Strict)
		if err != nil {
			t.Errorf("%v in %s", err, tool.Definition)
			continue
		}
		name, _ := o.String("name")
		names[name] = true
		const arguments = `{"n":9007199254740993,"x":1e400}`
		want := `{"content":[{"type":"text","text":"{\"n\":9007199254740993,\"x\":1e400}"}],"structuredContent":` + arguments + `}`
		if tool.Call == nil {
			want = `{"content":[]}`
		}
		if raw, ok := results[name]; ok {
			want = raw
		}
		if got := run(t, upstreamtest.Hostile(), name, arguments); got != want {
			t.Errorf("%s = %s, want %s", name, got, want)
		}
	}
	for name, raw := range results {
		if !names[name] {
			t.Errorf("missing tool %s", name)
		}
		if err := rawjson.Valid([]byte(raw), rawjson.Strict); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPagesContainEveryToolOnce(t *testing.T) {
	s, url := serve(t, upstreamtest.Options{Tools: upstreamtest.Generated(10)})
	sid := session(t, url)
	for size, pages := range map[int]int{0: 1, 1: 10, 3: 4, 5: 2, 9: 2, 10: 1, 11: 1} {
		s.SetPageSize(size)
		var got []string
		cursor, n := "", 0
		for n == 0 || cursor != "" {
			a := pendingRequest{url: url, body: `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"` + cursor + `"}}`, headers: []string{sid}}.do(t)
			var r struct {
				Result struct {
					Tools      []struct{ Name string }
					NextCursor string
				}
			}
			if err := json.Unmarshal([]byte(a.body), &r); err != nil {
				t.Fatal(err)
			}
			for _, tool := range r.Result.Tools {
				got = append(got, tool.Name)
			}
			cursor, n = r.Result.NextCursor, n+1
		}
		if n != pages || len(got) != 10 || got[9] != checkDefinition(t, upstreamtest.Generated(10)[9].Definition).Name {
			t.Errorf("pages of %d: %d pages with %v", size, n, got)
		}
	}
	s.SetPageSize(0)
	s.SetTools()
	check(t, pendingRequest{url: url, body: list, headers: []string{sid}}, 200, `"result":{"tools":[]}`, "")
}
