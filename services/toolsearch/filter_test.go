package toolsearch_test

import (
	"slices"
	"strings"
	"testing"

	"mcpgateway/models"
	"mcpgateway/services/query"
	"mcpgateway/services/toolsearch/literal"
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
		for _, found := range literal.Filter(project.AllTools(), q) {
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
		for _, found := range literal.Filter(project.AllTools(), q) {
			got = append(got, found.FullName)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: found %v, want %s", text, got, want)
		}
	}
}

// TestMatcherFindsWhatTheSearchFinds compares the tools of a toolset's query with
// the results of the query mode.
func TestMatcherFindsWhatTheSearchFinds(t *testing.T) {
	deep := func(levels int) string {
		return strings.Repeat(`{"type":"object","properties":{"x":`, levels) + `{"type":"object","properties":{"deepest":{}}}` + strings.Repeat(`}}`, levels)
	}
	definition := func(name, schema string) string { return `{"name":"` + name + `","inputSchema":` + schema + `}` }
	project := newFixture("p").server("git", nil,
		definition("flat", `{"type":"object","properties":{"owner":{"type":"string","description":"the {owner}"},"Größe":{"title":"Size"}}}`),
		definition("nested", `{"type":"object","properties":{"filter":{"type":"object","properties":{"owner_id":{"type":"string"}}}}}`),
		definition("list", `{"type":"object","properties":{"rows":{"type":"array","items":{"type":"object","properties":{"owner":{}}}}}}`),
		definition("branches", `{"type":"object","anyOf":[{"properties":{"owner":{}}},{"oneOf":[{"allOf":[{"properties":{"size":{}}}]}]}]}`),
		definition("escaped", `{"type":"object","properties":{"o\u0077ner":{}}}`),
		definition("odd", `{"type":"object","properties":["owner"],"items":"owner","anyOf":{"owner":1}}`),
		definition("none", `{"type":"object","title":"owner","description":"owner"}`),
		definition("deep7", deep(7)), definition("deep8", deep(8)), definition("deep9", deep(9)),
	).snapshot()
	searcher := newSearcher(t)
	for _, text := range []string{"param:owner", "param:size", "param:größe", "param:filter", "param:deepest", "param:x", "-param:owner", "name:deep", "name:owner", "param:owner -name:flat"} {
		q, err := query.Tools().Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		matches := literal.Matcher(q)
		var got []string
		for _, tool := range project.Tools {
			if matches(tool) {
				got = append(got, tool.FullName)
			}
		}
		slices.Sort(got)
		want := strings.Fields(byQuery(t, searcher, project, `{"query":`+quoted(text)+`}`).names())
		slices.Sort(want)
		if !slices.Equal(got, want) || len(got) == 0 && text != "name:owner" {
			t.Errorf("%s: toolset %q, search %q", text, got, want)
		}
	}
}
