package query_test

import (
	"strings"
	"testing"

	"mcpgateway/services/query"
)

func BenchmarkParse(b *testing.B) {
	g := query.Registry()
	for name, input := range map[string]string{
		"term":       "github",
		"usual":      `Git "pull request" tag:code -tag:data verified:true`,
		"unicode":    "Straße 検索 tag:ＡＢＣ",
		"longest":    strings.Repeat("é", query.MaxCodePoints),
		"expanding":  strings.Repeat("\ufdfa", query.MaxCodePoints),
		"32 clauses": strings.TrimSpace(strings.Repeat(`-tag:"a\"b" `, query.MaxClauses)),
		"fault":      "https://x.example",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = g.Parse(input)
			}
		})
	}
}

func BenchmarkMatches(b *testing.B) {
	q := parse(b, query.Registry(), `git issues tag:code tag:data -lab -verified:false`)
	r := row{"github issues", map[string]string{"tag": "data", "verified": "yes"}}
	b.ReportAllocs()
	for b.Loop() {
		if !q.Matches(r.holds) {
			b.Fatal("the row does not match")
		}
	}
}
