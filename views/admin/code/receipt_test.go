package code_test

import (
	"regexp"
	"strings"
	"testing"

	"mcpgateway/views/admin/code"
)

var tags = regexp.MustCompile(`<[^>]+>`)

// textOf returns the words of the outcome from a heading on.
func textOf(t *testing.T, o code.Outcome, from string) string {
	t.Helper()
	var b strings.Builder
	if err := code.Unstored(o).Render(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(tags.ReplaceAllString(b.String(), " ")), " ")
	return text[strings.LastIndex(text, from):]
}

func TestReceiptCountsCalls(t *testing.T) {
	read := code.Call{Tool: "a__read", OK: true, Sent: true, Effect: "read", ResultSize: 1500}
	write := code.Call{Tool: "a__write", OK: true, Sent: true, Effect: "write"}
	unknown := code.Call{Tool: "a__odd", Sent: true, Effect: "unknown", Error: "no"}
	fetch := code.Call{Tool: "fetch", OK: true, Sent: true, Fetch: true, Effect: "read", ArgsBytes: 20}
	planned := code.Call{Tool: "a__write", OK: true, DryRun: true, Effect: "write"}
	queued := code.Call{Tool: "a__write", Effect: "write", Error: "not sent"}
	for _, tt := range []struct {
		name  string
		calls []code.Call
		want  string
	}{
		{"no calls", nil, "Receipt Read Nothing Changed Nothing Sent outside Nothing"},
		{"reads", []code.Call{read, read}, "Receipt Read 2 calls · 3 KB Changed Nothing Sent outside Nothing"},
		{"writes", []code.Call{write, unknown, write}, "Receipt Read Nothing Changed a__write a__odd (may write) 3 calls, 1 failed Sent outside Nothing"},
		{"requests", []code.Call{fetch}, "Receipt Read Nothing Changed Nothing Sent outside 1 request · 20 bytes"},
		{"dry run", []code.Call{read, planned}, "Receipt Read 1 call · 2 KB Changed Nothing Sent outside Nothing Not sent a__write 1 call"},
		{"queued", []code.Call{queued}, "Receipt Read Nothing Changed Nothing Sent outside Nothing"},
	} {
		if got := textOf(t, code.Outcome{OK: true, Calls: tt.calls}, "Receipt"); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestReceiptNamesTools(t *testing.T) {
	for n, want := range map[int]string{4: "t3 4 calls", 5: "t4 5 calls", 6: "t4 and 1 more 6 calls"} {
		var calls []code.Call
		for i := range n {
			calls = append(calls, code.Call{Tool: "t" + string(rune('0'+i)), OK: true, Sent: true, Effect: "write"})
		}
		if got := textOf(t, code.Outcome{OK: true, Calls: calls}, "Changed"); !strings.Contains(got, want) {
			t.Errorf("%d tools: %q, want %q", n, got, want)
		}
	}
}

func TestResultWidth(t *testing.T) {
	line := func(n int) string { return strings.Repeat("x", n) }
	for _, tt := range []struct {
		name, result string
		wide         bool
	}{
		{"long line below the limit", line(63), false}, {"long line at the limit", line(64), false}, {"long line over the limit", line(65), true},
		{"lines below the limit", strings.Repeat("x\n", 15), false}, {"lines at the limit", strings.Repeat("x\n", 16), false}, {"lines over the limit", strings.Repeat("x\n", 17), true},
	} {
		var b strings.Builder
		if err := code.Unstored(code.Outcome{OK: true, Result: tt.result}).Render(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
		if wide := strings.Contains(b.String(), `class="c8"`); wide != tt.wide {
			t.Errorf("%s: wide = %v, want %v", tt.name, wide, tt.wide)
		}
	}
}
