package query_test

import (
	"strings"
	"testing"

	"mcpgateway/services/fault"
	"mcpgateway/services/query"
)

func TestLengthLimitsAreExact(t *testing.T) {
	smile := "\U0001F600" // 4 bytes, so that both limits coincide
	for _, tc := range []struct {
		name, input string
		code        fault.Code
	}{
		{"2047 code points", strings.Repeat("é", query.MaxCodePoints-1), ""},
		{"2048 code points", strings.Repeat("é", query.MaxCodePoints), ""},
		{"2049 code points", strings.Repeat("é", query.MaxCodePoints+1), fault.CodeQueryTooLong},
		{"2049 code points of white space", strings.Repeat(" ", query.MaxCodePoints+1), fault.CodeQueryTooLong},
		{"8191 bytes", strings.Repeat(smile, 2047) + "€", ""},
		{"8192 bytes", strings.Repeat(smile, 2048), ""},
		{"8193 bytes", strings.Repeat(smile, 2048) + "a", fault.CodeQueryTooLong},
		{"8192 bytes that are no text", strings.Repeat("\xff", query.MaxBytes), fault.CodeInvalidUTF8},
		{"8193 bytes that are no text", strings.Repeat("\xff", query.MaxBytes+1), fault.CodeQueryTooLong},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := query.Registry().Parse(tc.input)
			checkUnspanned(t, err, tc.code)
		})
	}
}

func checkUnspanned(t *testing.T, err error, code fault.Code) {
	t.Helper()
	if code == "" {
		if err != nil {
			t.Error(err)
		}
		return
	}
	if !fault.Is(err, code) {
		t.Fatalf("got %v, want %s", err, code)
	}
	if f := fault.From(err); f.Kind != fault.KindInvalid || f.Span != nil || f.Restart {
		t.Errorf("got %+v", f)
	}
}

func TestInvalidUTF8IsRejected(t *testing.T) {
	for _, input := range []string{"\xff", "a \xc3", "tag:\xc0\x80", "\xed\xa0\x80", "\"\xf4\x90\x80\x80\"", "\ufffd\x80"} {
		_, err := query.Registry().Parse(input)
		checkUnspanned(t, err, fault.CodeInvalidUTF8)
	}
	_, err := query.Registry().Parse("日\xff")
	if !strings.Contains(fault.From(err).Message, "at byte 3") {
		t.Errorf("the message %q lacks the position", fault.From(err).Message)
	}
}

func TestClauseLimitIsExact(t *testing.T) {
	for n := query.MaxClauses - 1; n <= query.MaxClauses; n++ {
		if q := parse(t, query.Registry(), strings.Repeat(" tag:x", n)); len(q.Clauses) != n {
			t.Errorf("%d clauses were read as %d", n, len(q.Clauses))
		}
	}
	for _, last := range []string{"-tag:y", "type:server", `"x`} {
		_, err := query.Registry().Parse(strings.Repeat("a ", query.MaxClauses) + last + strings.Repeat(" z", 100))
		f := fault.From(err)
		start := 2 * query.MaxClauses
		if f.Code != fault.CodeTooManyClauses || f.Span == nil || f.Span.Start != start || f.Span.End < start+len(last) {
			t.Errorf("%q as clause 33: got %v, span %v", last, err, f.Span)
		}
	}
	if _, err := query.Registry().Parse(strings.Repeat("type:server ", query.MaxClauses) + "a"); !fault.Is(err, fault.CodeTooManyClauses) {
		t.Errorf("clauses without effect are not counted: %v", err)
	}
}
