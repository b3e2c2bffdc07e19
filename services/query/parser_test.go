package query_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"mcpgateway/services/fault"
	"mcpgateway/services/query"
)

// spans shortens the tables.
func span(start, end int) fault.Span { return fault.Span{Start: start, End: end} }

func text(value string, at fault.Span) query.Clause {
	return query.Clause{Value: value, Folded: query.Fold(value), Span: at}
}

func qualified(name, value string, at fault.Span) query.Clause {
	c := text(value, at)
	c.Qualifier = name
	return c
}

func not(c query.Clause) query.Clause { c.Negated = true; return c }

func is(c query.Clause) query.Clause { c.Bool = true; return c }

func parse(t testing.TB, g query.Grammar, input string) *query.Query {
	t.Helper()
	q, err := g.Parse(input)
	if err != nil {
		t.Fatalf("%q: %v", input, err)
	}
	return q
}

func TestParse(t *testing.T) {
	for _, tc := range []struct {
		name, input string
		want        []query.Clause
	}{
		{"nothing", "", nil},
		{"only white space", " \t\n", nil},
		{"a term", "git", []query.Clause{text("git", span(0, 3))}},
		{"terms", "a  bc", []query.Clause{text("a", span(0, 1)), text("bc", span(3, 5))}},
		{"every White_Space code point separates", "a\u0085b\u00a0c\u2028d\u3000e\u1680f\vg",
			[]query.Clause{text("a", span(0, 1)), text("b", span(2, 3)), text("c", span(4, 5)), text("d", span(6, 7)), text("e", span(8, 9)), text("f", span(10, 11)), text("g", span(12, 13))}},
		{"a zero-width space does not separate", "a\u200bb", []query.Clause{text("a\u200bb", span(0, 3))}},
		{"spans count code points", "日本 \U0001F600x", []query.Clause{text("日本", span(0, 2)), text("\U0001F600x", span(3, 5))}},
		{"the replacement character is text", "\ufffd", []query.Clause{text("\ufffd", span(0, 1))}},
		{"NUL is text", "a\x00b", []query.Clause{text("a\x00b", span(0, 3))}},
		{"no operators", "a AND (b* OR c)", []query.Clause{text("a", span(0, 1)), text("AND", span(2, 5)), text("(b*", span(6, 9)), text("OR", span(10, 12)), text("c)", span(13, 15))}},
		{"a quote inside a term", `a"b c"`, []query.Clause{text(`a"b`, span(0, 3)), text(`c"`, span(4, 6))}},
		{"a backslash outside quotes", `a\"b \\`, []query.Clause{text(`a\"b`, span(0, 4)), text(`\\`, span(5, 7))}},

		{"a phrase", `"a b"`, []query.Clause{text("a b", span(0, 5))}},
		{"white space of a phrase is kept", `" a  b "`, []query.Clause{text(" a  b ", span(0, 8))}},
		{"escapes", `"a\"b\\" c`, []query.Clause{text(`a"b\`, span(0, 8)), text("c", span(9, 10))}},
		{"an escaped backslash before the end", `"\\" x`, []query.Clause{text(`\`, span(0, 4)), text("x", span(5, 6))}},
		{"a qualifier in quotes is text", `"tag:x"`, []query.Clause{text("tag:x", span(0, 7))}},
		{"an address in quotes is text", `"https://x"`, []query.Clause{text("https://x", span(0, 11))}},

		{"a negated term", "-a", []query.Clause{not(text("a", span(0, 2)))}},
		{"a negated phrase", `-"a b"`, []query.Clause{not(text("a b", span(0, 6)))}},
		{"a negated qualifier", "-tag:x", []query.Clause{not(qualified("tag", "x", span(0, 6)))}},
		{"two dashes exclude a dash and its word", "--a", []query.Clause{not(text("-a", span(0, 3)))}},
		{"two dashes", "--", []query.Clause{not(text("-", span(0, 2)))}},
		{"behind two dashes a qualifier is text", "--tag:x", []query.Clause{not(text("-tag:x", span(0, 7)))}},
		{"a dash inside a term", "a-b", []query.Clause{text("a-b", span(0, 3))}},
		{"a dash in quotes", `"-a"`, []query.Clause{text("-a", span(0, 4))}},

		{"a qualifier", "tag:x", []query.Clause{qualified("tag", "x", span(0, 5))}},
		{"its name in capitals", "TaG:X", []query.Clause{qualified("tag", "X", span(0, 5))}},
		{"a quoted value", `tag:"a b"`, []query.Clause{qualified("tag", "a b", span(0, 9))}},
		{"an escaped value", `tag:"\""`, []query.Clause{qualified("tag", `"`, span(0, 8))}},
		{"only the first colon separates", "tag:a:b::", []query.Clause{qualified("tag", "a:b::", span(0, 9))}},
		{"a value that begins with a colon", "tag::a", []query.Clause{qualified("tag", ":a", span(0, 6))}},
		{"a value that begins with a dash", "tag:-a", []query.Clause{qualified("tag", "-a", span(0, 6))}},
		{"a quote inside a value", `tag:a"b`, []query.Clause{qualified("tag", `a"b`, span(0, 7))}},
		{"a backslash in a bare value", `tag:a\b`, []query.Clause{qualified("tag", `a\b`, span(0, 7))}},
		{"repeated qualifiers", "tag:a tag:b", []query.Clause{qualified("tag", "a", span(0, 5)), qualified("tag", "b", span(6, 11))}},
		{"true", "verified:true", []query.Clause{is(qualified("verified", "true", span(0, 13)))}},
		{"false", "featured:false", []query.Clause{qualified("featured", "false", span(0, 14))}},
		{"true in capitals", "-verified:TRUE", []query.Clause{not(is(qualified("verified", "TRUE", span(0, 14))))}},
		{"true in quotes", `verified:"true"`, []query.Clause{is(qualified("verified", "true", span(0, 15)))}},

		{"a time is text", "12:30", []query.Clause{text("12:30", span(0, 5))}},
		{"a colon in front is text", ":x", []query.Clause{text(":x", span(0, 2))}},
		{"a lone colon is text", ":", []query.Clause{text(":", span(0, 1))}},
		{"a dot in the name makes text", "a.b:c", []query.Clause{text("a.b:c", span(0, 5))}},
		{"a name beyond ASCII makes text", "täg:c", []query.Clause{text("täg:c", span(0, 5))}},
		{"a name that begins with an underscore makes text", "_tag:c", []query.Clause{text("_tag:c", span(0, 6))}},
		{"a fullwidth colon makes text", "tag：c", []query.Clause{text("tag：c", span(0, 5))}},
		{"negated text with a colon", "-:x", []query.Clause{not(text(":x", span(0, 3)))}},
		{"type has no effect", "a type:server b", []query.Clause{text("a", span(0, 1)), text("b", span(14, 15))}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			q := parse(t, query.Registry(), tc.input)
			if d := cmp.Diff(tc.want, q.Clauses, cmpopts.EquateEmpty()); d != "" {
				t.Errorf("%q (-want +got):\n%s", tc.input, d)
			}
			if len(q.Warnings) > 0 {
				t.Errorf("%q: unexpected warnings %v", tc.input, q.Warnings)
			}
		})
	}
}

func TestParseErrors(t *testing.T) {
	for _, tc := range []struct {
		name, input string
		code        fault.Code
		span        fault.Span
		message     string
	}{
		{"an unknown qualifier", "foo:ba", fault.CodeUnknownQualifier, span(0, 6), `Unknown filter "foo". Available: featured, publisher, tag, transport, verified. To search for this as text, put it in quotes: "foo:ba"`},
		{"an unknown qualifier after text", "日 -foo:x", fault.CodeUnknownQualifier, span(2, 8), `put it in quotes: -"foo:x"`},
		{"an unknown qualifier with a phrase", `foo:"a b" c`, fault.CodeUnknownQualifier, span(0, 9), "put it in quotes"},
		{"an address", "https://x.example/y", fault.CodeUnknownQualifier, span(0, 19), `put it in quotes: "https://x.example/y"`},
		{"a very long address", "https://" + strings.Repeat("x", 2000), fault.CodeUnknownQualifier, span(0, 2008), "put it in quotes"},
		{"a very long name", strings.Repeat("x", 2000) + ":y", fault.CodeUnknownQualifier, span(0, 2002), "put it in quotes"},
		{"a name with digits and signs", "a-1_:x", fault.CodeUnknownQualifier, span(0, 6), "qualifier a-1_."},
		{"an unknown qualifier without a value", "foo: x", fault.CodeUnknownQualifier, span(0, 4), "qualifier foo."},
		{"the name is checked before the value", `foo:"x`, fault.CodeUnknownQualifier, span(0, 6), "qualifier foo."},
		{"a qualifier of tools", "readonly:true", fault.CodeUnsupportedQualifier, span(0, 13), "readonly works in the search for tools, not for servers. Available: featured,"},
		{"a qualifier of templates in capitals", "-CATEGORY:x", fault.CodeUnsupportedQualifier, span(0, 11), "category works in the search for templates,"},

		{"a qualifier without a value", "a tag: b", fault.CodeEmptyValue, span(2, 6), "directly after the colon, such as tag:value"},
		{"a qualifier without a value at the end", "-tag:", fault.CodeEmptyValue, span(0, 5), "directly after the colon"},
		{"a qualifier with an empty phrase", `tag:""`, fault.CodeEmptyValue, span(0, 6), "tag has no value"},
		{"an empty phrase", `a ""`, fault.CodeEmptyValue, span(2, 4), "quotes are empty"},
		{"a negated empty phrase", `-""`, fault.CodeEmptyValue, span(0, 3), "quotes are empty"},
		{"an empty type", "type:", fault.CodeEmptyValue, span(0, 5), "type has no value"},

		{"a boolean that is none", "verified:yes", fault.CodeInvalidValue, span(0, 12), "Write verified:true or verified:false"},
		{"a boolean as a number", "-featured:1", fault.CodeInvalidValue, span(0, 11), "Write featured:true or featured:false"},
		{"a boolean with a space", `verified:"true "`, fault.CodeInvalidValue, span(0, 16), "either true or false"},

		{"an open phrase", `a "b c`, fault.CodeUnterminatedQuote, span(2, 6), "not closed"},
		{"a lone quote", `"`, fault.CodeUnterminatedQuote, span(0, 1), "not closed"},
		{"an open value", `-tag:"b c `, fault.CodeUnterminatedQuote, span(0, 10), "not closed"},
		{"an escaped quote does not close", `"a\"`, fault.CodeUnterminatedQuote, span(0, 4), "not closed"},
		{"a backslash at the end", `"a\`, fault.CodeUnterminatedQuote, span(0, 3), "not closed"},

		{"an escape of a letter", `x "a\n" y`, fault.CodeInvalidEscape, span(2, 7), `Write \\ for a backslash`},
		{"an escape beyond ASCII", `"\日" y`, fault.CodeInvalidEscape, span(0, 4), `Write \\ for a backslash`},
		{"an escape in a value", `tag:"\d" y`, fault.CodeInvalidEscape, span(0, 8), `Write \\ for a backslash`},
		{"of two problems the first", `"\d" "b`, fault.CodeInvalidEscape, span(0, 4), `Write \\ for a backslash`},
		{"of two problems of one clause the first", `"\d`, fault.CodeInvalidEscape, span(0, 3), `Write \\ for a backslash`},

		{"a letter after a phrase", `"a"b c`, fault.CodeUnexpectedCharacter, span(0, 4), "followed by a space"},
		{"a phrase after a phrase", `"a""b" c`, fault.CodeUnexpectedCharacter, span(0, 6), `\" for a quote inside`},
		{"a letter after a value", `-tag:"a"b`, fault.CodeUnexpectedCharacter, span(0, 9), "followed by a space"},
		{"a letter after an empty phrase", `""b`, fault.CodeUnexpectedCharacter, span(0, 3), "followed by a space"},
		{"a letter after a boolean that is none", `verified:"x"y`, fault.CodeUnexpectedCharacter, span(0, 13), "followed by a space"},

		{"a lone dash", "-", fault.CodeDanglingNegation, span(0, 1), "Write -word"},
		{"a dash before a space", "a - b", fault.CodeDanglingNegation, span(2, 3), "Write -word"},
		{"the first clause wins", `- foo:x "`, fault.CodeDanglingNegation, span(0, 1), "Write -word"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			q, err := query.Registry().Parse(tc.input)
			if q != nil || !fault.Is(err, tc.code) {
				t.Fatalf("%q: got %v, %v, want %s", tc.input, q, err, tc.code)
			}
			f := fault.From(err)
			if f.Kind != fault.KindInvalid || f.Restart {
				t.Errorf("kind %d, restart %t", f.Kind, f.Restart)
			}
			if f.Span == nil || *f.Span != tc.span {
				t.Errorf("span %v, want %v", f.Span, tc.span)
			}
			if !strings.Contains(f.Message, tc.message) {
				t.Errorf("message %q does not contain %q", f.Message, tc.message)
			}
			if len(f.Message) > 500 {
				t.Errorf("the message has %d bytes", len(f.Message))
			}
		})
	}
}

func TestSuggestedQuotesParseAsText(t *testing.T) {
	for _, input := range []string{"https://x", `C:\dir`, "-localhost:80", `a:b"c`, "readonly:true"} {
		_, err := query.Registry().Parse(input)
		_, suggested, ok := strings.Cut(fault.From(err).Message, "put it in quotes: ")
		if !ok {
			t.Fatalf("%q: %v suggests nothing", input, err)
		}
		value, negated := strings.CutPrefix(input, "-")
		c := text(value, fault.Span{})
		c.Negated = negated
		got := parse(t, query.Registry(), suggested).Clauses
		if d := cmp.Diff([]query.Clause{c}, got, cmpopts.IgnoreTypes(fault.Span{})); d != "" {
			t.Errorf("%q (-want +got):\n%s", suggested, d)
		}
	}
}
