package query_test

import (
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"mcpgateway/services/fault"
	"mcpgateway/services/query"
)

func TestCanonical(t *testing.T) {
	for want, spellings := range map[string][]string{
		"":                  {"", "  ", "type:server"},
		"a b":               {"a b", " a\u3000b\n", `"a" "b"`, "a type:tool b"},
		`"a b"`:             {`"a b"`, ` "a b" `},
		"tag:x":             {"TAG:x", `Tag:"x"`},
		`tag:"x y"`:         {`tag:"x y"`},
		`tag:"\"x"`:         {`tag:"\"x"`},
		`tag:x"`:            {`tag:x"`, `tag:"x\""`},
		`tag:\`:             {`tag:\`, `tag:"\\"`},
		"tag:-x":            {"tag:-x", `tag:"-x"`},
		"tag:tag:x":         {"tag:tag:x", `tag:"tag:x"`},
		`"-a"`:              {`"-a"`},
		"--a":               {"--a", `-"-a"`},
		`"tag:x"`:           {`"tag:x"`},
		`-"https://x"`:      {`-"https://x"`},
		"12:30":             {`"12:30"`, "12:30"},
		`a"`:                {`a"`, `"a\""`},
		`"\" \\"`:           {`"\" \\"`},
		"-tag:a -b":         {`-TAG:"a"  -"b"`},
		"verified:TRUE":     {`verified:"TRUE"`},
		"tag:b tag:a A a a": {"tag:b tag:a A a a"},
	} {
		for _, s := range spellings {
			if got := parse(t, query.Registry(), s).Canonical(); got != want {
				t.Errorf("%q: got %q, want %q", s, got, want)
			}
		}
	}
}

// checkCanonical checks the properties of Canonical for any valid query.
func checkCanonical(t interface {
	Helper()
	Fatalf(string, ...any)
}, g query.Grammar, input string, q *query.Query) {
	t.Helper()
	canonical := q.Canonical()
	if len(canonical) > len(input) || utf8.RuneCountInString(canonical) > utf8.RuneCountInString(input) {
		t.Fatalf("%q became the longer %q", input, canonical)
	}
	again, err := g.Parse(canonical)
	if err != nil {
		t.Fatalf("%q became %q, which is %v", input, canonical, err)
	}
	if again.Canonical() != canonical {
		t.Fatalf("%q became %q and then %q", input, canonical, again.Canonical())
	}
	if d := cmp.Diff(q.Clauses, again.Clauses, cmpopts.IgnoreTypes(fault.Span{})); d != "" {
		t.Fatalf("%q became %q (-before +after):\n%s", input, canonical, d)
	}
}

func TestCanonicalRoundTrip(t *testing.T) {
	value := rapid.OneOf(
		rapid.StringOfN(rapid.OneOf(rapid.SampledFrom([]rune(`"\-:a Ab_9`+"\u3000é")), rapid.Rune()), 1, 12, -1),
		rapid.SampledFrom([]string{"-", "--", ":", `"`, `\`, `\"`, "tag:x", "-tag:x", "https://x", " "}),
	)
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) query.Clause {
			c := query.Clause{
				Negated:   rapid.Bool().Draw(t, "negated"),
				Qualifier: rapid.SampledFrom([]string{"", "tag", "publisher"}).Draw(t, "qualifier"),
				Value:     value.Draw(t, "value"),
			}
			c.Folded = query.Fold(c.Value)
			return c
		}), 0, query.MaxClauses).Draw(t, "clauses")
		g := query.Registry()
		input := (&query.Query{Clauses: want}).Canonical()
		q, err := g.Parse(input)
		if err != nil {
			t.Fatalf("%q: %v", input, err)
		}
		if d := cmp.Diff(want, q.Clauses, cmpopts.IgnoreTypes(fault.Span{}), cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("%q (-want +got):\n%s", input, d)
		}
		checkCanonical(t, g, input, q)
	})
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"", " ", "a b", `"a b" -c`, `tag:"x\"\\" -tag:y`, "https://x", "-", "--", "--tag:x", `"`, `"\`, `"\n"`, `"a"b`, `""`, "tag:", "tag:\"", "verified:true featured:no",
		"type:tool entity:server", "日本 tag:語 ｔａｇ:x", "a\u0085\u2028\u3000b", "\xff", "a:\xc3", "readonly:true server:x category:y", "ΐ ŉ ǰ ß ﬃ İ \u0345\u0301", "\u200b\ufeff\x00", "12:30 a.b:c :x",
	} {
		f.Add(s)
	}
	grammars := []query.Grammar{query.Tools(), query.Registry(), query.Templates()}
	f.Fuzz(func(t *testing.T, input string) {
		points := utf8.RuneCountInString(input)
		inside := func(s fault.Span, from int) bool { return from <= s.Start && s.Start < s.End && s.End <= points }
		for _, g := range grammars {
			q, err := g.Parse(input)
			if err != nil {
				f := fault.From(err)
				if q != nil || f.Kind != fault.KindInvalid || f.Message == "" {
					t.Fatalf("%q: %v, %+v", input, q, f)
				}
				if bare := f.Code == fault.CodeQueryTooLong || f.Code == fault.CodeInvalidUTF8; bare != (f.Span == nil) {
					t.Fatalf("%q: %s with the span %v", input, f.Code, f.Span)
				}
				if f.Span != nil && !inside(*f.Span, 0) {
					t.Fatalf("%q: the span %v is outside", input, *f.Span)
				}
				if !utf8.ValidString(f.Message) || len(f.Message) > 700 {
					t.Fatalf("%q: message %q", input, f.Message)
				}
				continue
			}
			if len(input) > query.MaxBytes || points > query.MaxCodePoints || !utf8.ValidString(input) || len(q.Clauses) > query.MaxClauses {
				t.Fatalf("%q was read", input)
			}
			end := 0
			for _, c := range q.Clauses {
				if !inside(c.Span, end) || c.Value == "" || c.Folded != query.Fold(c.Value) {
					t.Fatalf("%q holds %+v", input, c)
				}
				end = c.Span.End
			}
			for _, w := range q.Warnings {
				if w.Span == nil || !inside(*w.Span, 0) {
					t.Fatalf("%q warns %+v", input, w)
				}
			}
			checkCanonical(t, g, input, q)
		}
	})
}
