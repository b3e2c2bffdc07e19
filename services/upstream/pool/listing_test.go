package pool_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"mcpgateway/services/fault"
	"mcpgateway/services/upstream/upstreamtest"
)

// listing serves pages of tools. A page is the raw "tools" value and the raw
// members that follow it.
func listing(t testing.TB, revision string, page func(cursor string) string) string {
	return handmade(t, revision, func(w http.ResponseWriter, _ *http.Request, m rpc) {
		if m.Method == "tools/list" {
			cursor := ""
			if _, after, ok := strings.Cut(string(m.Params), `"cursor":"`); ok {
				cursor, _, _ = strings.Cut(after, `"`)
			}
			writeJSON(w, `{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":{"tools":`+page(cursor)+`}}`)
		}
	})
}

func TestOmittedTools(t *testing.T) {
	for _, tc := range []struct {
		name, revision, tools string
		want                  int
		warning               string
	}{
		{"valid", "2025-11-25", `[{"name":"a"},{"name":"b"}]`, 2, ""},
		{"long name", "2025-11-25", `[{"name":"` + strings.Repeat("n", 500) + `"}]`, 1, ""},
		{"no object", "2025-11-25", `[{"name":"a"},null,"x",[1]]`, 1, "tool 2 was omitted: it is not an object"},
		{"no name", "2025-11-25", `[{"name":"a"},{}]`, 1, "tool 2 was omitted: it has no name"},
		{"empty name", "2025-11-25", `[{"name":""}]`, 0, "it has no name"},
		{"name not a string", "2025-11-25", `[{"name":7}]`, 0, "it has no name"},
		{"duplicate name", "2025-11-25", `[{"name":"a","x":1},{"name":"\u0061","x":2},{"name":"A"}]`, 2, `tool "a" was omitted: another tool has the same name`},
		{"task only", "2025-11-25", `[{"name":"a","execution":{"taskSupport":"required"}},{"name":"b","execution":{"taskSupport":"optional"}}]`, 2, ""},
		{"invalid annotation", "2026-07-28", `[{"name":"a","inputSchema":{"properties":{"x":{"type":"object","x-mcp-header":"X"}}}},{"name":"b"}]`, 1, "x-mcp-header"},
		{"annotation in earlier revision", "2025-11-25", `[{"name":"a","inputSchema":{"properties":{"x":{"type":"object","x-mcp-header":"X"}}}}]`, 1, ""},
		{"unprintable name", "2025-11-25", `[{"name":"a\u001b[31m\n"},{"name":"a\u001b[31m\n"}]`, 1, `another tool`},
		{"unpaired surrogate in description", "2025-11-25", `[{"name":"a","description":"\ud83d"},{"name":"b"}]`, 2, ""},
		{"unpaired surrogate in name", "2025-11-25", `[{"name":"a"},{"name":"b\ude00"},{"name":"c\ud83d\ude00"}]`, 2, "tool \"b.\" was omitted: its name contains an unpaired surrogate"},
		{"no tools", "2025-11-25", `[]`, 0, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			url := listing(t, tc.revision, func(string) string { return tc.tools })
			tools, about, warnings, err := newPool(t).ListTools(testContext(t), target(url))
			if err != nil {
				t.Fatal(err)
			}
			if len(tools) != tc.want || about.ProtocolVersion != tc.revision {
				t.Errorf("%d tools in %s: %q", len(tools), about.ProtocolVersion, tools)
			}
			all := strings.Join(warnings, "\n")
			if (tc.warning == "") != (len(warnings) == 0) || !strings.Contains(all, tc.warning) || strings.ContainsAny(all, "\x1b\r") {
				t.Errorf("warnings = %q, want %q", warnings, tc.warning)
			}
		})
	}
}

func TestInvalidListFails(t *testing.T) {
	for _, tools := range []string{`null`, `{}`, `"x"`, `7`} {
		url := listing(t, "2025-11-25", func(string) string { return tools })
		_, _, _, err := newPool(t).ListTools(testContext(t), target(url))
		wantFault(t, err, fault.CodeUpstreamInvalidResponse, "without a list of tools")
	}
}

func TestUpstreamWithoutTools(t *testing.T) {
	for code, ok := range map[int]bool{-32601: true, -32603: false} {
		s := upstreamtest.New(upstreamtest.Options{Eras: []upstreamtest.Era{upstreamtest.Era20251125}})
		s.SetFault(upstreamtest.Fault{On: upstreamtest.OnList, Kind: upstreamtest.JSONRPCError, Error: &upstreamtest.RPCError{Code: code, Message: "sorry"}})
		tools, about, _, err := newPool(t).ListTools(testContext(t), target(s.Start(t)))
		if ok && (err != nil || len(tools) != 0 || about == nil) {
			t.Errorf("%d: %v", code, err)
		}
		if !ok {
			wantFault(t, err, fault.CodeUpstreamInvalidResponse, "sorry", "-32603")
		}
	}
}

func TestPagesAreFollowed(t *testing.T) {
	chain := func(next map[string]string) func(string) string {
		return func(cursor string) string {
			more := ""
			if n, ok := next[cursor]; ok {
				more = `,"nextCursor":` + n
			}
			return `[{"name":"tool of ` + cursor + `"}]` + more
		}
	}
	for _, tc := range []struct {
		name, revision string
		next           map[string]string
		want           int
		warning        string
	}{
		{"one", "2025-11-25", nil, 1, ""},
		{"three", "2025-11-25", map[string]string{"": `"a"`, "a": `"b"`}, 3, ""},
		{"null cursor", "2025-11-25", map[string]string{"": `"a"`, "a": `null`}, 2, ""},
		{"empty cursor in earlier revision", "2025-11-25", map[string]string{"": `"a"`, "a": `""`}, 2, ""},
		{"loop", "2025-11-25", map[string]string{"": `"a"`, "a": `"b"`, "b": `"a"`}, 3, "repeats itself"},
		{"loop of one", "2025-11-25", map[string]string{"": `"a"`, "a": `"a"`}, 2, "repeats itself"},
		{"unpaired surrogate as cursor", "2025-11-25", map[string]string{"": `"\ud83d"`, `\ud83d`: `"b"`}, 2, `tool "tool of ." was omitted`},
		{"empty cursor", "2026-07-28", map[string]string{"": `""`}, 1, "repeats itself"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tools, _, warnings, err := newPool(t).ListTools(testContext(t), target(listing(t, tc.revision, chain(tc.next))))
			if err != nil || len(tools) != tc.want || !strings.Contains(strings.Join(warnings, "\n"), tc.warning) || tc.warning == "" && len(warnings) > 0 {
				t.Errorf("got %d tools, warnings %q, %v", len(tools), warnings, err)
			}
		})
	}
}

func TestListLimits(t *testing.T) {
	many := func(n int) func(string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,{"name":"t%d"}`, i)
		}
		return func(string) string { return "[" + b.String()[1:] + "]" }
	}
	pages := func(n int) func(string) string {
		return func(cursor string) string {
			i := 1
			_, _ = fmt.Sscan(cursor, &i)
			more := ""
			if i < n {
				more = fmt.Sprintf(`,"nextCursor":"%d"`, i+1)
			}
			return fmt.Sprintf(`[{"name":"t%d"}]%s`, i, more)
		}
	}
	// Four definitions of 8 MiB fill the list exactly; a fifth does not fit.
	heavy := func(extra int) func(string) string {
		inner := pages(5)
		return func(cursor string) string {
			page := inner(cursor)
			name, rest, _ := strings.Cut(page[1:], "}")
			size := 8 << 20
			if strings.Contains(name, `"t5"`) {
				size = 30 + extra
			}
			if strings.Contains(name, `"t4"`) {
				size -= 30
			}
			return "[" + name + `,"d":"` + strings.Repeat("x", size-len(name)-len(`,"d":""}`)) + `"}` + rest
		}
	}
	for _, tc := range []struct {
		name    string
		page    func(string) string
		want    int
		warning string
	}{
		{"4,999 tools", many(4_999), 4_999, ""},
		{"5,000 tools", many(5_000), 5_000, ""},
		{"5,001 tools", many(5_001), 5_000, "5000 tools"},
		{"499 pages", pages(499), 499, ""},
		{"500 pages", pages(500), 500, ""},
		{"501 pages", pages(501), 500, "500 pages"},
		{"32 MiB - 1", heavy(-1), 5, ""},
		{"32 MiB", heavy(0), 5, ""},
		{"32 MiB + 1", heavy(1), 4, "32 MiB"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tools, _, warnings, err := newPool(t).ListTools(testContext(t), target(listing(t, "2025-11-25", tc.page), within(time.Minute)))
			if err != nil || len(tools) != tc.want || !strings.Contains(strings.Join(warnings, "\n"), tc.warning) || tc.warning == "" && len(warnings) > 0 {
				t.Errorf("got %d tools, warnings %q, %v", len(tools), warnings, err)
			}
		})
	}
}

func TestWarningLimit(t *testing.T) {
	for n, want := range map[int]int{99: 99, 100: 100, 101: 100, 2000: 100} {
		url := listing(t, "2025-11-25", func(string) string { return "[" + strings.Repeat("null,", n-1) + "null]" })
		_, _, warnings, err := newPool(t).ListTools(testContext(t), target(url))
		if err != nil || len(warnings) != want {
			t.Errorf("%d invalid tools: %d warnings, %v", n, len(warnings), err)
		}
	}
}

func TestEndlessPagesEnd(t *testing.T) {
	for _, kind := range []upstreamtest.FaultKind{upstreamtest.EndlessPages, upstreamtest.RepeatedCursor} {
		s := upstreamtest.New(upstreamtest.Options{Tools: upstreamtest.Standard(30), PageSize: 10})
		s.SetFault(upstreamtest.Fault{On: upstreamtest.OnList, Kind: kind})
		_, _, warnings, err := newPool(t).ListTools(testContext(t), target(s.Start(t)))
		if err != nil || len(warnings) == 0 {
			t.Errorf("warnings %q, %v", warnings, err)
		}
	}
}
