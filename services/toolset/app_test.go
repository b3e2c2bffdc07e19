package toolset

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
)

func TestAppOf(t *testing.T) {
	for _, tt := range []struct {
		meta string
		want App
	}{
		{`{}`, App{Callable: true}},
		{`{"_meta":null}`, App{Callable: true}},
		{`{"_meta":{"ui":{"resourceUri":"ui://a"}}}`, App{URIs: []string{"ui://a"}, Callable: true}},
		{`{"_meta":{"ui":{"resourceUri":"https://a"}}}`, App{Callable: true}},
		{`{"_meta":{"ui":{"resourceUri":7},"ui/resourceUri":"ui://b"}}`, App{URIs: []string{"ui://b"}, Callable: true}},
		{`{"_meta":{"ui":{"resourceUri":"ui://a"},"ui/resourceUri":"ui://a","openai/outputTemplate":"ui://c"}}`, App{URIs: []string{"ui://a", "ui://c"}, Callable: true}},
		{`{"_meta":{"ui":{"visibility":["app"]}}}`, App{Only: true, Callable: true}},
		{`{"_meta":{"ui":{"visibility":["model"]}}}`, App{}},
		{`{"_meta":{"ui":{"visibility":["app","model"]}}}`, App{Callable: true}},
		{`{"_meta":{"ui":{"visibility":[]}}}`, App{Only: true}},
		{`{"_meta":{"ui":{"visibility":"app"}}}`, App{Callable: true}},
	} {
		o, err := rawjson.ParseObject([]byte(tt.meta), rawjson.Lenient)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, appOf(o)); diff != "" {
			t.Errorf("%s: %s", tt.meta, diff)
		}
	}
}

// withApp returns a tool with a user interface.
func withApp(name string) models.Tool {
	return tool(name, fmt.Sprintf(`{"name":%q,"_meta":{"ui":{"resourceUri":"ui://%s"}}}`, name, name))
}

func visible(name, visibility string) models.Tool {
	return tool(name, fmt.Sprintf(`{"name":%q,"_meta":{"ui":{"visibility":%s}}}`, name, visibility))
}

func TestCalled(t *testing.T) {
	s := Build(Source{
		Project: models.Project{DisabledTools: models.StringList{"off__ui", "two__quiet"}},
		Servers: []models.Server{
			server("1", "one", nil), server("2", "two", nil), server("3", "plain", nil), server("4", "off", nil),
			server("5", "down", func(s *models.Server) { s.Enabled = false }),
		},
		Tools: map[string][]models.Tool{
			"1": {withApp("show"), visible("poll", `["app"]`), visible("ask", `["model"]`), plain("both"), plain("quiet"), plain("two__x"), plain("no__x")},
			"2": {withApp("view"), plain("both"), plain("quiet")},
			"3": {plain("lone"), plain("poll")},
			"4": {withApp("ui"), plain("hidden_app")}, // its app is off
			"5": {withApp("ui"), plain("gone")},
		},
	}, noTarget)
	for _, tt := range []struct{ name, want string }{
		{"poll", "one__poll"}, {"show", "one__show"}, {"view", "two__view"},
		{"quiet", "one__quiet"}, // the other one is off
		{"no__x", "one__no__x"}, // no alias
		{"two__x", "two__x"},    // the alias of a server
		{"ask", "ask"}, {"lone", "lone"}, {"hidden_app", "hidden_app"}, {"gone", "gone"}, {"never", "never"}, {"", ""},
		{"one__poll", "one__poll"}, {"gateway_executeTool", "gateway_executeTool"},
	} {
		if got, err := s.Called(tt.name); got != tt.want || err != nil {
			t.Errorf("Called(%q) = %q, %v, want %q", tt.name, got, err, tt.want)
		}
	}
	_, err := s.Called("both")
	if !fault.Is(err, fault.CodeToolAmbiguous) || !slices.Equal(fault.From(err).Candidates, []string{"one__both", "two__both"}) {
		t.Errorf("Called(both): %v", err)
	}
	// A caller who has only one of the servers gets no sign of the other.
	view := s.View(Selection{
		Name: "one", Tool: func(t *Tool) bool { return t.Server.Config.Alias == "one" }, Names: func(string) bool { return false },
		Offers: func(string, []*Tool) bool { return false }, Toolsets: func(*Tool) []string { return nil },
	})
	if got, err := view.Called("both"); got != "one__both" || err != nil {
		t.Errorf("in a view: Called(both) = %q, %v", got, err)
	}
}

func TestAmbiguousMessageIsBounded(t *testing.T) {
	for _, n := range []int{maxNamedCandidates - 1, maxNamedCandidates, maxNamedCandidates + 1} {
		src := Source{Tools: map[string][]models.Tool{}}
		for i := range n {
			id := fmt.Sprintf("s%d", i)
			src.Servers, src.Tools[id] = append(src.Servers, server(id, id, nil)), []models.Tool{withApp("show")}
		}
		_, err := Build(src, noTarget).Called("show")
		f := fault.From(err)
		if len(f.Candidates) != n {
			t.Errorf("%d servers: %d candidates", n, len(f.Candidates))
		}
		if more := "and 1 more"; (n > maxNamedCandidates) != contains(f.Message, more) || !contains(f.Message, "s3__show") {
			t.Errorf("%d servers: %s", n, f.Message)
		}
	}
}

func TestForModels(t *testing.T) {
	s := Build(Source{Servers: []models.Server{server("1", "a", nil)}, Tools: map[string][]models.Tool{"1": {plain("x"), visible("y", `["app"]`), plain("z")}}}, noTarget)
	var names []string
	for _, tool := range ForModels(s.Tools) {
		names = append(names, tool.Name)
	}
	if !slices.Equal(names, []string{"a__x", "a__z"}) || len(s.Tools) != 3 {
		t.Errorf("got %v", names)
	}
}
