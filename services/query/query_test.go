package query_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcpgateway/services/fault"
	"mcpgateway/services/query"
)

// row has a title and values of qualifiers.
type row struct {
	title  string
	values map[string]string
}

func (r row) holds(c *query.Clause) bool {
	if c.Qualifier == "" {
		return strings.Contains(query.Fold(r.title), c.Folded)
	}
	if c.Qualifier == "verified" {
		return (r.values["verified"] == "yes") == c.Bool
	}
	return query.Fold(r.values[c.Qualifier]) == c.Folded
}

func TestMatches(t *testing.T) {
	r := row{"GitHub Issues", map[string]string{"tag": "Code", "transport": "http", "verified": "yes"}}
	for _, tc := range []struct {
		input string
		want  bool
	}{
		{"", true},
		{"git", true}, {"gitlab", false},
		{"git issue", true}, {"git lab", false}, {"lab git", false},
		{`"hub iss"`, true}, {`"issues github"`, false},
		{"-lab", true}, {"-git", false}, {"git -issues", false}, {"git -lab -jira", true}, {"git -lab -hub", false},
		{"tag:code", true}, {"tag:data", false},
		{"tag:data tag:code", true}, {"tag:data tag:web", false}, {"tag:code tag:data", true},
		{"tag:data transport:http tag:CODE", true},
		{"tag:code transport:sse", false}, {"tag:data transport:http", false},
		{"-tag:code", false}, {"-tag:data", true}, {"-tag:data -tag:code", false}, {"tag:code -tag:code", false},
		{"verified:true", true}, {"verified:false", false}, {"-verified:false", true}, {"verified:false verified:true", true},
		{"git tag:code -lab -tag:data", true}, {"lab tag:code", false},
		{"type:tool git", true},
	} {
		if got := parse(t, query.Registry(), tc.input).Matches(r.holds); got != tc.want {
			t.Errorf("%q: got %t", tc.input, got)
		}
	}
}

func TestText(t *testing.T) {
	q := parse(t, query.Registry(), `a -b tag:c "D e" -tag:f`)
	want := []query.Clause{text("a", span(0, 1)), text("D e", span(11, 16))}
	if d := cmp.Diff(want, q.Text()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if got := parse(t, query.Registry(), "-b tag:c type:tool").Text(); len(got) > 0 {
		t.Errorf("a query without text has %v", got)
	}
}

func TestQueryIsSafeForConcurrentUse(t *testing.T) {
	g := query.Registry()
	r := row{"GitHub", map[string]string{"tag": "code"}}
	q := parse(t, g, "GIT tag:a tag:code -lab ÄÖ")
	done := make(chan bool)
	for range 8 {
		go func() {
			for range 50 {
				if q.Matches(r.holds) || q.Canonical() != "GIT tag:a tag:code -lab ÄÖ" {
					t.Error("a reader saw another query")
				}
				if _, err := g.Parse("ÄÖ foo:x"); !fault.Is(err, fault.CodeUnknownQualifier) {
					t.Error(err)
				}
			}
			done <- true
		}()
	}
	for range 8 {
		<-done
	}
}
