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
	p, err := s.Preview(t.Context(), project, toolsearch.Caller{ID: "ada"}, toolsearch.TaskArguments("open an isue in the repository", 5))
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
		`{"query":"a"}`: false, `{}`: false, `{"task":" "}`: false, `{"task":"the"}`: true, `{"task":"a","limit":20}`: true, `{"task":"a","limit":21}`: false,
	} {
		if _, err := s.Preview(t.Context(), project, toolsearch.Caller{ID: "ada"}, []byte(arguments)); (err == nil) != ok {
			t.Errorf("%s: %v", arguments, err)
		}
	}
}
