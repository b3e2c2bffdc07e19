package page_test

import (
	"strings"
	"testing"

	"mcpgateway/services/fault"
	"mcpgateway/services/page"
)

func TestQueryLimit(t *testing.T) {
	if got, want := page.QueryLimit(), (page.Range{Name: "limit", Min: 1, Max: 50, Default: 20}); got != want {
		t.Errorf("got %+v", got)
	}
}

const refused = -1

func checkNumber(t *testing.T, what string, got int, err error, want int) {
	t.Helper()
	if want != refused {
		if err != nil || got != want {
			t.Errorf("%s: got %d (%v), want %d", what, got, err, want)
		}
		return
	}
	f := fault.From(err)
	if err == nil || f.Kind != fault.KindInvalid || f.Code != fault.CodeInvalidParameter || f.Restart || !strings.Contains(f.Message, "limit must be an integer from 1 to 50") {
		t.Errorf("%s: got %d (%v)", what, got, err)
	}
}

func TestLimitsAreExact(t *testing.T) {
	r := page.QueryLimit()
	for n, want := range map[int]int{-1: refused, 0: refused, 1: 1, 2: 2, 49: 49, 50: 50, 51: refused} {
		got, err := r.Check(n)
		checkNumber(t, "a number", got, err, want)
	}
	for text, want := range map[string]int{
		"": 20, "0": refused, "1": 1, "2": 2, "49": 49, "50": 50, "51": refused, "007": 7,
		"+5": refused, "-5": refused, "-0": refused, " 5": refused, "5 ": refused, "5.0": refused, "5e0": refused, "0x5": refused, "1_0": refused, "x": refused, "٥": refused,
		"99999999999999999999": refused, "null": refused,
	} {
		got, err := r.Parse(text)
		checkNumber(t, "?limit="+text, got, err, want)
	}
	for raw, want := range map[string]int{
		"": 20, "0": refused, "1": 1, "2": 2, "49": 49, "50": 50, "51": refused, " 5\n": 5, "5.0": 5, "5e0": 5, "0.5e1": 5,
		"-1": refused, "-0": refused, "1.5": refused, "0.9999": refused, "50.0001": refused, "1e400": refused, "-1e400": refused, "1e-400": refused,
		"null": refused, "true": refused, `"5"`: refused, "[5]": refused, "{}": refused,
	} {
		got, err := r.Decode([]byte(raw))
		checkNumber(t, `"limit":`+raw, got, err, want)
	}
}

func TestOffsetStartsAtZero(t *testing.T) {
	r := page.Range{Name: "offset", Min: 0, Max: 10_000}
	for _, text := range []string{"0", "9999", "10000"} {
		a, err := r.Parse(text)
		b, err2 := r.Decode([]byte(text))
		if err != nil || err2 != nil || a != b {
			t.Errorf("%s: got %d (%v) and %d (%v)", text, a, err, b, err2)
		}
	}
	if _, err := r.Parse("10001"); !fault.Is(err, fault.CodeInvalidParameter) {
		t.Errorf("10001: %v", err)
	}
	if _, err := r.Decode([]byte("10001")); !fault.Is(err, fault.CodeInvalidParameter) {
		t.Errorf("10001: %v", err)
	}
}
