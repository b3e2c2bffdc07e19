package toolsearch_test

import (
	"fmt"
	"strings"
	"testing"

	"mcpgateway/models"
	"mcpgateway/services/toolsearch"
)

func TestPreviewExplainsRanking(t *testing.T) {
	project := newFixture("p").
		server("git", nil, tool("create_issue", "Opens a ticket in a repository"), tool("delete_branch", "Removes a branch")).
		server("chat", func(s *models.Server) { s.DenyTools = []string{"*"} }, tool("issue_thread", "Opens a thread")).
		snapshot()
	s := newSearcher(t)
	p, err := s.Preview(t.Context(), project, toolsearch.Caller{ID: "ada"}, toolsearch.Arguments{Task: "open an isue in the repository", Limit: new(5)}.JSON())
	if err != nil {
		t.Fatal(err)
	}
	if p.Total != len(p.Found) || len(p.Found) == 0 || p.Found[0].Tool.FullName != "git__create_issue" {
		t.Fatalf("found %d of %d: %+v", len(p.Found), p.Total, p.Found)
	}
	var got []string
	for _, r := range p.Found[0].Reasons {
		got = append(got, fmt.Sprintf("%s=%s in %s", r.Word, r.Found, r.Field))
	}
	if want := "open=opens in description, isue=issue in name, repository=repository in description"; strings.Join(got, ", ") != want {
		t.Errorf("reasons %q, want %q", strings.Join(got, ", "), want)
	}
	if len(p.Hidden) != 1 || p.Hidden[0].FullName != "chat__issue_thread" {
		t.Errorf("hidden: %v", p.Hidden)
	}
	response, err := s.Search(t.Context(), project, toolsearch.Caller{ID: "ada"}, []byte(`{"task":"open an isue in the repository","limit":5}`))
	if err != nil || string(response) != string(p.Response) {
		t.Errorf("response differs from the tool's: %v\n%s\n%s", err, response, p.Response)
	}
}

func TestPreviewArguments(t *testing.T) {
	s, project := newSearcher(t), newFixture("p").server("git", nil, tool("a", "b")).snapshot()
	for arguments, ok := range map[string]bool{
		`{"query":"a"}`: true, `{"query":"a","server":"git"}`: false, `{"query":"a:"}`: false, `{}`: false, `{"task":" "}`: false, `{"task":"the"}`: true, `{"task":"a","limit":20}`: true, `{"task":"a","limit":21}`: false,
	} {
		if _, err := s.Preview(t.Context(), project, toolsearch.Caller{ID: "ada"}, []byte(arguments)); (err == nil) != ok {
			t.Errorf("%s: %v", arguments, err)
		}
	}
}

func TestPreviewExplainsQuery(t *testing.T) {
	project := newFixture("p").
		server("git", nil, tool("create_issue", "Opens a ticket"), tool("close_issue", "Ends a ticket"), tool("list", "Lists issues")).
		server("chat", func(s *models.Server) { s.DenyTools = []string{"*"} }, tool("issue_thread", "Opens a thread")).
		snapshot()
	s, caller := newSearcher(t), toolsearch.Caller{ID: "ada"}
	p, err := s.Preview(t.Context(), project, caller, toolsearch.Arguments{Query: new("issue server:git -delete"), Limit: new(2)}.JSON())
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Found) != 2 || p.NextCursor == "" || len(p.Hidden) != 0 || p.ByMeaning {
		t.Fatalf("preview: %+v", p)
	}
	if got, want := fmt.Sprint(p.Found[0].Reasons), "[{issue issue name} {server:git server:git server}]"; got != want {
		t.Errorf("reasons %s, want %s", got, want)
	}
	next, err := s.Preview(t.Context(), project, caller, toolsearch.Arguments{Query: new("issue server:git -delete"), Limit: new(2), Cursor: p.NextCursor}.JSON())
	if err != nil || len(next.Found) != 1 || next.NextCursor != "" || next.Found[0].Reasons[0].Field != "description" {
		t.Errorf("next page: %+v, %v", next, err)
	}
}

func TestPreviewOfLaterPage(t *testing.T) {
	f := newFixture("p").server("git", nil, tool("issue_a", ""), tool("issue_b", ""), tool("issue_c", ""))
	s, project := newSearcher(t), f.snapshot()
	for offset, want := range []struct {
		first string
		next  int
	}{{"git__issue_a", 2}, {"git__issue_b", 0}, {"git__issue_c", 0}} {
		p, err := s.Preview(t.Context(), project, toolsearch.Caller{ID: "ada"}, toolsearch.Arguments{Task: "issue", Limit: new(2), Offset: new(offset)}.JSON())
		if err != nil || p.Found[0].Tool.Name != want.first || p.NextOffset != want.next || p.Total != 3 {
			t.Errorf("offset %d: %+v, %v", offset, p, err)
		}
	}
}
