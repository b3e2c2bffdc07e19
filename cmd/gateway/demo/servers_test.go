package demo_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mcpgateway/cmd/gateway/demo"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/upstream/upstreamtest"
)

// definition parses a tool definition with the official types. It also returns the
// output schema.
func definition(t *testing.T, raw string) (*mcp.Tool, *jsonschema.Resolved) {
	t.Helper()
	if err := rawjson.Valid([]byte(raw), rawjson.Strict); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	var d mcp.Tool
	var schemas struct{ InputSchema, OutputSchema jsonschema.Schema }
	if err := json.Unmarshal([]byte(raw), &d); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	if err := json.Unmarshal([]byte(raw), &schemas); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	_, wrongInput := schemas.InputSchema.Resolve(nil)
	output, wrongOutput := schemas.OutputSchema.Resolve(nil)
	if wrongInput != nil || wrongOutput != nil {
		t.Fatalf("schemas of %s: %v, %v", raw, wrongInput, wrongOutput)
	}
	return &d, output
}

// run calls a tool and returns the result as JSON.
func run(t *testing.T, tools []upstreamtest.Tool, name, arguments string) string {
	t.Helper()
	for _, tool := range tools {
		if d, _ := definition(t, tool.Definition); d.Name == name {
			return string(tool.Call(t.Context(), &upstreamtest.Call{Name: name, Arguments: []byte(arguments)}).JSON)
		}
	}
	t.Fatalf("unknown tool %s", name)
	return ""
}

func TestDemoTools(t *testing.T) {
	now := func() time.Time { return time.Date(2026, 3, 29, 0, 59, 30, 0, time.UTC) }
	tools := append(demo.Clock(now).Tools, demo.TextTools().Tools...)
	outputs := map[string]*jsonschema.Resolved{}
	for _, tool := range tools {
		d, output := definition(t, tool.Definition)
		if d.Description == "" || d.Title == "" || d.OutputSchema == nil || d.Annotations == nil || !d.Annotations.ReadOnlyHint || len(tool.Definition) > 2048 {
			t.Errorf("%s: incomplete or too large definition", d.Name)
		}
		outputs[d.Name] = output
	}
	covered := map[string]bool{}
	for _, tc := range []struct{ tool, arguments, want string }{
		{"current_time", `{"zone":"Europe/Berlin"}`, `{"time":"2026-03-29T01:59:30+01:00","zone":"Europe/Berlin","abbreviation":"CET","utcOffset":"+01:00","weekday":"Sunday","unix":1774745970}`},
		{"current_time", `{"zone":"UTC"}`, `{"time":"2026-03-29T00:59:30Z","zone":"UTC","abbreviation":"UTC","utcOffset":"+00:00","weekday":"Sunday","unix":1774745970}`},
		{"current_time", `{"zone":"Mars/Base"}`, `unknown time zone "Mars/Base"`},
		{"current_time", `{"zone":"Local"}`, `missing time zone`},
		{"current_time", `{"zone":"UTC","x":1}`, `unknown field`},
		{"current_time", `{"zone":1}`, `don't match the input schema`},
		{"convert_time", `{"time":"2026-07-01T09:00","from":"America/New_York","to":"Asia/Kolkata"}`, `{"from":{"time":"2026-07-01T09:00:00-04:00","zone":"America/New_York","abbreviation":"EDT","utcOffset":"-04:00","weekday":"Wednesday","unix":1782910800},"to":{"time":"2026-07-01T18:30:00+05:30","zone":"Asia/Kolkata","abbreviation":"IST","utcOffset":"+05:30","weekday":"Wednesday","unix":1782910800}}`},
		{"convert_time", `{"time":"noon","from":"UTC","to":"UTC"}`, `invalid local date and time "noon"`},
		{"convert_time", `{"time":"2026-07-01T09:00","from":"UTC","to":"no"}`, `unknown time zone "no"`},
		{"days_between", `{"start":"2026-01-01","end":"2026-12-31"}`, `{"days":364,"workingDays":260,"weeks":52}`},
		{"days_between", `{"start":"2026-03-27","end":"2026-03-30"}`, `{"days":3,"workingDays":1,"weeks":0.43}`},
		{"days_between", `{"start":"2026-03-30","end":"2026-03-27"}`, `{"days":-3,"workingDays":-1,"weeks":-0.43}`},
		{"days_between", `{"start":"0001-01-01","end":"9999-12-31"}`, `{"days":3652058,"workingDays":2608614,"weeks":521722.57}`},
		{"days_between", `{"start":"2026-02-30","end":"2026-03-01"}`, `invalid date "2026-02-30"`},
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
		{"change_case", `{"text":"a","case":"odd"}`, `unknown case "odd"`},
		{"base64", `{"text":"héllo?>","direction":"encode"}`, `{"text":"aMOpbGxvPz4="}`},
		{"base64", `{"text":"\u00fb\u00ff~~~","direction":"encode","urlSafe":true}`, `{"text":"w7vDv35-fg=="}`},
		{"base64", `{"text":" aMOpbGxvPz4 ","direction":"decode"}`, `{"text":"héllo?\u003e"}`},
		{"base64", `{"text":"_w","direction":"decode","urlSafe":true}`, `not UTF-8`},
		{"base64", `{"text":"!","direction":"decode"}`, `not Base64`},
		{"base64", `{"text":"x","direction":"up"}`, `encode or decode`},
		{"hash_text", `{"text":"abc"}`, `{"algorithm":"sha256","hash":"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"}`},
		{"hash_text", `{"text":"","algorithm":"sha384"}`, `{"algorithm":"sha384","hash":"38b060a751ac96384cd9327eb1b1e36a21fdb71114be07434c0cc7bf63f6e1da274edebfe76f65fbd51ad2f14898b95b"}`},
		{"hash_text", `{"text":"ü","algorithm":"sha512"}`, `{"algorithm":"sha512","hash":"230a068990071d4a606ff63325712a2f12bb1f1f0be551f418127a94e9c26bb2c788711dd5a7d3efb69c5a7441a530c4c212fa90ca907c2e052bca893f1d9185"}`},
		{"hash_text", `{"text":"","algorithm":"crc"}`, `unknown algorithm "crc"`},
		{"diff_text", `{"before":"a\nb\nc\n","after":"a\nx\nc\nd"}`, `{"equal":false,"added":2,"removed":1,"diff":" a\n-b\n+x\n c\n+d\n"}`},
		{"diff_text", `{"before":"a","after":"a\n"}`, `{"equal":true,"added":0,"removed":0,"diff":" a\n"}`},
		{"diff_text", `{"before":"","after":"a"}`, `{"equal":false,"added":1,"removed":0,"diff":"+a\n"}`},
		{"diff_text", `{"before":"1\n2\n3\n4","after":"2\n4\n5"}`, `{"equal":false,"added":1,"removed":2,"diff":"-1\n 2\n-3\n 4\n+5\n"}`},
		{"replace_text", `{"text":"a.b.c","find":".","replacement":"--"}`, `{"text":"a--b--c","replaced":2}`},
		{"replace_text", `{"text":"a","find":"","replacement":"b"}`, `find must not be empty`},
	} {
		covered[tc.tool] = true
		got := run(t, tools, tc.tool, tc.arguments)
		var result struct{ StructuredContent json.RawMessage }
		if err := json.Unmarshal([]byte(got), &result); err != nil {
			t.Fatal(err)
		}
		structured := string(result.StructuredContent)
		if structured == "" {
			if !strings.HasSuffix(got, `"isError":true}`) || !strings.Contains(got, string(rawjson.Quote(tc.want)[1:len(rawjson.Quote(tc.want))-1])) {
				t.Errorf("%s(%s) = %s, want an error with %s", tc.tool, tc.arguments, got, tc.want)
			}
			continue
		}
		if diff := cmp.Diff(tc.want, strings.ReplaceAll(structured, "\\u003e", `\u003e`)); diff != "" {
			t.Errorf("%s(%s) (-want +got):\n%s", tc.tool, tc.arguments, diff)
		}
		var value any
		if err := json.Unmarshal([]byte(structured), &value); err != nil {
			t.Fatal(err)
		}
		if err := outputs[tc.tool].Validate(value); err != nil {
			t.Errorf("%s: %v", tc.tool, err)
		}
	}
	for name := range outputs {
		if !covered[name] {
			t.Errorf("tool %s is not tested", name)
		}
	}
}

func TestDiffLimit(t *testing.T) {
	text := func(n int, mark string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "%s%d\\n", mark, i)
		}
		return b.String()
	}
	tools := demo.TextTools().Tools
	for n, fits := range map[int]bool{1998: true, 1999: true, 2000: false} { // at most 4,000,000 of (n+1)² cells
		got := run(t, tools, "diff_text", `{"before":"`+text(n, "a")+`","after":"`+text(n, "b")+`"}`)
		if strings.Contains(got, "isError") == fits {
			t.Errorf("diff of %d lines = %.100s, want success %t", n, got, fits)
		}
	}
}

func TestDemoServers(t *testing.T) {
	servers := demo.Servers()
	if len(servers) != 2 || servers[0].Name == servers[1].Name || servers[0].Name == "" || servers[1].Name == "" {
		t.Errorf("Servers() = %+v, want two with different names", servers)
	}
}
