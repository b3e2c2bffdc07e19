package upstreamtest_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mcpgateway/services/rawjson"
	"mcpgateway/services/upstream/upstreamtest"
)

// run calls a tool over the wire and returns the raw result.
func run(t *testing.T, tools []upstreamtest.Tool, name, arguments string) string {
	t.Helper()
	_, url := serve(t, upstreamtest.Options{Tools: tools, Eras: []upstreamtest.Era{upstreamtest.Era20251125}, Sessionless: true})
	a := exchange{url: url, body: call(name, arguments)}.do(t)
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
			t.Errorf("%s %s gave %s, want %s", tc.tool, tc.arguments, got, tc.want)
		}
	}
	_, url := serve(t, upstreamtest.Options{Tools: upstreamtest.Standard(3)})
	a := exchange{url: url, body: call("big", `{"bytes":33554432}`), headers: []string{session(t, url)}}.do(t)
	if want := len(`{"jsonrpc":"2.0","id":7,"result":}`+text("")) + 33554432; a.status != 200 || len(a.body) != want {
		t.Errorf("the largest text gave %d with %d bytes, want %d", a.status, len(a.body), want)
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
			t.Fatalf("%s comes twice", d.Name)
		}
		names[d.Name] = true
		if n := len(tool.Definition); n < 400 || n > 1300 {
			t.Errorf("%s has %d bytes: %s", d.Name, n, tool.Definition)
		}
		if i < 10 && tool.Definition != upstreamtest.Generated(10)[i].Definition {
			t.Errorf("tool %d differs with the number", i)
		}
	}
}

// checkDefinition fails the test unless raw is a definition that the official
// types take and whose schemas resolve.
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
	for _, x := range []exchange{{url: url, body: list, headers: []string{session(t, url)}}, modern(url, "tools/list", "", "")} {
		for _, mode := range []upstreamtest.AnswerMode{upstreamtest.AnswerJSON, upstreamtest.AnswerSSE} {
			s.SetAnswer(mode)
			var body string
			if mode == upstreamtest.AnswerSSE {
				body = x.open(t).must().data
			} else {
				body = x.do(t).body
			}
			if joined := `"tools":[` + strings.Join(want, ",") + `]`; !strings.Contains(body, joined) {
				t.Errorf("mode %d changed the definitions: %s", mode, body)
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
			t.Errorf("%s gave %s, want %s", name, got, want)
		}
	}
	for name, raw := range results {
		if !names[name] {
			t.Errorf("no tool is called %s", name)
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
			a := exchange{url: url, body: `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"` + cursor + `"}}`, headers: []string{sid}}.do(t)
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
	check(t, exchange{url: url, body: list, headers: []string{sid}}, 200, `"result":{"tools":[]}`, "")
}

func TestDemoToolResults(t *testing.T) {
	now := func() time.Time { return time.Date(2026, 3, 29, 0, 59, 30, 0, time.UTC) }
	tools := append(upstreamtest.Clock(now).Tools, upstreamtest.TextTools().Tools...)
	definitions := map[string]*mcp.Tool{}
	for _, tool := range tools {
		d := checkDefinition(t, tool.Definition)
		if d.Title == "" || d.OutputSchema == nil || d.Annotations == nil || !d.Annotations.ReadOnlyHint || len(tool.Definition) > 2048 {
			t.Errorf("%s is not a model definition", d.Name)
		}
		definitions[d.Name] = d
	}
	covered := map[string]bool{}
	for _, tc := range []struct{ tool, arguments, want string }{
		{"current_time", `{"zone":"Europe/Berlin"}`, `{"time":"2026-03-29T01:59:30+01:00","zone":"Europe/Berlin","abbreviation":"CET","utcOffset":"+01:00","weekday":"Sunday","unix":1774745970}`},
		{"current_time", `{"zone":"UTC"}`, `{"time":"2026-03-29T00:59:30Z","zone":"UTC","abbreviation":"UTC","utcOffset":"+00:00","weekday":"Sunday","unix":1774745970}`},
		{"current_time", `{"zone":"Mars/Base"}`, `there is no time zone "Mars/Base"`},
		{"current_time", `{"zone":"Local"}`, `name a time zone`},
		{"current_time", `{"zone":"UTC","x":1}`, `unknown field`},
		{"current_time", `{"zone":1}`, `do not fit the input schema`},
		{"convert_time", `{"time":"2026-07-01T09:00","from":"America/New_York","to":"Asia/Kolkata"}`, `{"from":{"time":"2026-07-01T09:00:00-04:00","zone":"America/New_York","abbreviation":"EDT","utcOffset":"-04:00","weekday":"Wednesday","unix":1782910800},"to":{"time":"2026-07-01T18:30:00+05:30","zone":"Asia/Kolkata","abbreviation":"IST","utcOffset":"+05:30","weekday":"Wednesday","unix":1782910800}}`},
		{"convert_time", `{"time":"noon","from":"UTC","to":"UTC"}`, `"noon" is not a local date and time`},
		{"convert_time", `{"time":"2026-07-01T09:00","from":"UTC","to":"no"}`, `there is no time zone "no"`},
		{"days_between", `{"start":"2026-01-01","end":"2026-12-31"}`, `{"days":364,"workingDays":260,"weeks":52}`},
		{"days_between", `{"start":"2026-03-27","end":"2026-03-30"}`, `{"days":3,"workingDays":1,"weeks":0.43}`},
		{"days_between", `{"start":"2026-03-30","end":"2026-03-27"}`, `{"days":-3,"workingDays":-1,"weeks":-0.43}`},
		{"days_between", `{"start":"0001-01-01","end":"9999-12-31"}`, `{"days":3652058,"workingDays":2608614,"weeks":521722.57}`},
		{"days_between", `{"start":"2026-02-30","end":"2026-03-01"}`, `"2026-02-30" is not a date`},
		{"add_to_date", `{"date":"2024-01-31","months":1}`, `{"date":"2024-02-29","weekday":"Thursday"}`},
		{"add_to_date", `{"date":"2024-02-29","years":1,"weeks":1,"days":-1}`, `{"date":"2025-03-06","weekday":"Thursday"}`},
		{"add_to_date", `{"date":"2026-01-15","months":-1}`, `{"date":"2025-12-15","weekday":"Monday"}`},
		{"add_to_date", `{"date":"9999-12-31","days":1}`, `years 1 to 9999`},
		{"add_to_date", `{"date":"2026-01-01","days":9223372036854775807}`, `years 1 to 9999`},
		{"calendar_info", `{"date":"2027-01-01"}`, `{"weekday":"Friday","isoWeek":"2026-W53","dayOfYear":1,"quarter":1,"leapYear":false,"daysInMonth":31}`},
		{"calendar_info", `{"date":"2024-02-10"}`, `{"weekday":"Saturday","isoWeek":"2024-W06","dayOfYear":41,"quarter":1,"leapYear":true,"daysInMonth":29}`},
		{"count_text", `{"text":"Grüße! Are you OK?\nYes... so-so\n"}`, `{"characters":32,"bytes":34,"words":6,"lines":2,"sentences":4}`},
		{"count_text", `{"text":""}`, `{"characters":0,"bytes":0,"words":0,"lines":0,"sentences":0}`},
		{"change_case", `{"text":"straße","case":"upper"}`, `{"text":"STRASSE"}`},
		{"change_case", `{"text":"don't PANIC, world-wide","case":"title"}`, `{"text":"Don't Panic, World-Wide"}`},
		{"change_case", `{"text":"parse HTTPResponse body2Text","case":"snake"}`, `{"text":"parse_http_response_body2_text"}`},
		{"change_case", `{"text":"parse HTTPResponse","case":"camel"}`, `{"text":"parseHttpResponse"}`},
		{"change_case", `{"text":"été à la mer","case":"pascal"}`, `{"text":"ÉtéÀLaMer"}`},
		{"change_case", `{"text":"-- a  b ","case":"kebab"}`, `{"text":"a-b"}`},
		{"change_case", `{"text":"aB","case":"constant"}`, `{"text":"A_B"}`},
		{"change_case", `{"text":"a","case":"odd"}`, `there is no case "odd"`},
		{"base64", `{"text":"héllo?>","direction":"encode"}`, `{"text":"aMOpbGxvPz4="}`},
		{"base64", `{"text":"\u00fb\u00ff~~~","direction":"encode","urlSafe":true}`, `{"text":"w7vDv35-fg=="}`},
		{"base64", `{"text":" aMOpbGxvPz4 ","direction":"decode"}`, `{"text":"héllo?\u003e"}`},
		{"base64", `{"text":"_w","direction":"decode","urlSafe":true}`, `not UTF-8`},
		{"base64", `{"text":"!","direction":"decode"}`, `not Base64`},
		{"base64", `{"text":"x","direction":"up"}`, `encode or decode`},
		{"hash_text", `{"text":"abc"}`, `{"algorithm":"sha256","hash":"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"}`},
		{"hash_text", `{"text":"","algorithm":"sha384"}`, `{"algorithm":"sha384","hash":"38b060a751ac96384cd9327eb1b1e36a21fdb71114be07434c0cc7bf63f6e1da274edebfe76f65fbd51ad2f14898b95b"}`},
		{"hash_text", `{"text":"ü","algorithm":"sha512"}`, `{"algorithm":"sha512","hash":"230a068990071d4a606ff63325712a2f12bb1f1f0be551f418127a94e9c26bb2c788711dd5a7d3efb69c5a7441a530c4c212fa90ca907c2e052bca893f1d9185"}`},
		{"hash_text", `{"text":"","algorithm":"crc"}`, `there is no algorithm "crc"`},
		{"diff_text", `{"before":"a\nb\nc\n","after":"a\nx\nc\nd"}`, `{"equal":false,"added":2,"removed":1,"diff":" a\n-b\n+x\n c\n+d\n"}`},
		{"diff_text", `{"before":"a","after":"a\n"}`, `{"equal":true,"added":0,"removed":0,"diff":" a\n"}`},
		{"diff_text", `{"before":"","after":"a"}`, `{"equal":false,"added":1,"removed":0,"diff":"+a\n"}`},
		{"diff_text", `{"before":"1\n2\n3\n4","after":"2\n4\n5"}`, `{"equal":false,"added":1,"removed":2,"diff":"-1\n 2\n-3\n 4\n+5\n"}`},
		{"replace_text", `{"text":"a.b.c","find":".","replacement":"--"}`, `{"text":"a--b--c","replaced":2}`},
		{"replace_text", `{"text":"a","find":"","replacement":"b"}`, `find must not be empty`},
	} {
		covered[tc.tool] = true
		got := run(t, tools, tc.tool, tc.arguments)
		structured := member(t, got, "structuredContent")
		if structured == "" {
			if !strings.HasSuffix(got, `"isError":true}`) || !strings.Contains(got, string(rawjson.Quote(tc.want)[1:len(rawjson.Quote(tc.want))-1])) {
				t.Errorf("%s %s gave %s, want %s", tc.tool, tc.arguments, got, tc.want)
			}
			continue
		}
		if diff := cmp.Diff(tc.want, strings.ReplaceAll(structured, "\\u003e", `\u003e`)); diff != "" {
			t.Errorf("%s %s: %s", tc.tool, tc.arguments, diff)
		}
		var value any
		if err := json.Unmarshal([]byte(structured), &value); err != nil {
			t.Fatal(err)
		}
		if err := resolve(t, definitions[tc.tool].OutputSchema).Validate(value); err != nil {
			t.Errorf("%s: %v", tc.tool, err)
		}
	}
	for name := range definitions {
		if !covered[name] {
			t.Errorf("%s was not called", name)
		}
	}
}

func TestComparisonLimit(t *testing.T) {
	text := func(n int, mark string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "%s%d\\n", mark, i)
		}
		return b.String()
	}
	tools := upstreamtest.TextTools().Tools
	for n, fits := range map[int]bool{1998: true, 1999: true, 2000: false} { // (n+1)² cells, 4,000,000 at most
		got := run(t, tools, "diff_text", `{"before":"`+text(n, "a")+`","after":"`+text(n, "b")+`"}`)
		if strings.Contains(got, "isError") == fits {
			t.Errorf("%d lines gave %.100s", n, got)
		}
	}
}

func TestDemoServers(t *testing.T) {
	demo := upstreamtest.Demo()
	if len(demo) != 2 || demo[0].Name == demo[1].Name || demo[0].Name == "" || demo[1].Name == "" {
		t.Errorf("got %+v", demo)
	}
}
