package toolsearch_test

import (
	"slices"
	"strings"
	"testing"

	"mcpgateway/models"
	"mcpgateway/services/query"
	"mcpgateway/services/toolsearch"
)

// TestFilterMatchesQueryMode compares both on visible tools and
// checks that Filter also finds hidden ones.
func TestFilterMatchesQueryMode(t *testing.T) {
	project := newFixture("p").
		server("git", nil, tool("create_issue", "Opens an issue"), tool("delete_branch", "Removes a branch")).
		server("chat", func(s *models.Server) { s.DenyTools = []string{"post_*"} }, tool("post_message", "Opens a thread"), tool("list_channels", "Lists issue channels")).
		snapshot()
	searcher := newSearcher(t)
	for text, hidden := range map[string]string{
		"issue": "", "server:git": "", "opens": "chat__post_message", "-issue": "chat__post_message", "name:create": "", `"Opens a"`: "chat__post_message", "readonly:true": "", "nothing-such": "",
	} {
		q, err := query.Tools().Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, found := range toolsearch.Filter(project.AllTools(), q) {
			got = append(got, found.FullName)
		}
		want := strings.Fields(byQuery(t, searcher, project, `{"query":`+quoted(text)+`}`).names())
		if hidden != "" {
			want = append(want, hidden)
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: found %v, want %v", text, got, want)
		}
	}
}

func TestFilterByAccessAndState(t *testing.T) {
	project := newFixture("p").
		server("git", nil,
			`{"name":"list","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true,"destructiveHint":true}}`,
			`{"name":"drop","inputSchema":{"type":"object"},"annotations":{"destructiveHint":true}}`,
			`{"name":"add","inputSchema":{"type":"object"},"annotations":{"destructiveHint":false}}`,
			tool("plain", "No annotations")).
		server("held", func(s *models.Server) { s.DefinitionPolicy = models.PolicyApprove }, tool("fresh", "New")).
		server("out", func(s *models.Server) { s.DenyTools = []string{"*"} }, tool("gone", "Filtered")).
		snapshot()
	for text, want := range map[string]string{
		"access:read": "git__list", "access:destructive": "git__drop", "access:WRITE server:git": "git__add git__plain",
		"access:read access:destructive": "git__list git__drop", "-access:write": "git__list git__drop",
		"state:approve": "held__fresh", "state:off": "out__gone", "-state:on": "held__fresh out__gone", "state:on access:write": "git__add git__plain",
	} {
		q, err := query.ToolList().Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, found := range toolsearch.Filter(project.AllTools(), q) {
			got = append(got, found.FullName)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: found %v, want %s", text, got, want)
		}
	}
}
