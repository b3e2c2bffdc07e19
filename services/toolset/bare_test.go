package toolset

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"mcpgateway/models"
)

func contains(s, part string) bool { return strings.Contains(s, part) }

func bareProject(limit int, off ...string) models.Project {
	return models.Project{ToolNames: models.NamesBare, ToolNameLimit: limit, DisabledTools: off}
}

func prompt(name string) models.Listing {
	return models.Listing{Kind: models.ListingPrompt, Ident: name, Definition: fmt.Sprintf(`{"name":%q}`, name)}
}

func listedPrompts(t *testing.T, s *Snapshot) (names []string) {
	t.Helper()
	page, _, _ := s.Offers.Page(models.ListingPrompt, 0)
	var prompts []struct{ Name string }
	if err := json.Unmarshal(page, &prompts); err != nil {
		t.Fatal(err)
	}
	for _, p := range prompts {
		names = append(names, p.Name)
	}
	return names
}

// bareSource has tools and prompts of two servers.
func bareSource(project models.Project) Source {
	return Source{
		Project: project,
		Servers: []models.Server{server("1", "one", nil), server("2", "two", nil)},
		Tools: map[string][]models.Tool{
			"1": {plain("lone"), plain("same"), plain("two__y"), plain("no__y"), plain("gateway_executeTool"), plain("gateway_mine")},
			"2": {plain("same"), plain("other"), tool("list", `{"name":"list","inputSchema":{"type":"object"},"outputSchema":{"type":"array"}}`)},
		},
		Listings: map[string][]models.Listing{"1": {prompt("hello"), prompt("bye")}, "2": {prompt("hello"), prompt("lone")}},
	}
}

func TestBareNames(t *testing.T) {
	s := Build(bareSource(bareProject(0)), noTarget)
	want := []string{"lone", "one__same", "one__two__y", "no__y", "one__gateway_executeTool", "gateway_mine", "two__same", "other", "list"}
	for _, era := range []Era{EraHandshake, EraStateless} {
		if got := listed(t, s, era); !slices.Equal(got, want) {
			t.Errorf("era %d: got %v, want %v", era, got, want)
		}
	}
	for _, name := range want {
		if found, err := s.Resolve(name); err != nil || !strings.HasSuffix(found.FullName, name) {
			t.Errorf("Resolve(%q): %v", name, err)
		}
	}
	for _, tool := range s.Tools {
		if found, err := s.Resolve(tool.FullName); err != nil || found != tool {
			t.Errorf("Resolve(%q): %v", tool.FullName, err)
		}
	}
	for _, name := range []string{"same", "two__y", "gateway_executeTool"} {
		if _, err := s.Resolve(name); err == nil {
			t.Errorf("Resolve(%q) found a tool", name)
		}
	}
	if got, want := listedPrompts(t, s), []string{"one__hello", "bye", "two__hello", "lone"}; !slices.Equal(got, want) {
		t.Errorf("prompts %v, want %v", got, want)
	}
	for name, full := range map[string]string{"bye": "one__bye", "lone": "two__lone", "one__hello": "one__hello", "two__lone": "two__lone", "hello": ""} {
		found, err := s.Offers.Prompt(name)
		if (err == nil) != (full != "") || err == nil && found.FullName != full {
			t.Errorf("Prompt(%q): %v, %v", name, found, err)
		}
	}
	page, _, _ := s.Page(EraHandshake, 0)
	if now, _, _ := s.Page(EraStateless, 0); !contains(string(page), `"outputSchema":{"type":"object","properties":{"result":{"type":"array"}}`) || !contains(string(now), `{"name":"list","inputSchema":{"type":"object"},"outputSchema":{"type":"array"}}`) {
		t.Errorf("the eras have %s and %s", page, now)
	}
}

func TestPrefixedNamesByDefault(t *testing.T) {
	for _, project := range []models.Project{{}, {ToolNames: models.NamesPrefixed}} {
		s := Build(bareSource(project), noTarget)
		if got := listed(t, s, EraHandshake); got[0] != "one__lone" {
			t.Errorf("%q lists %v", project.ToolNames, got)
		}
		if _, err := s.Resolve("lone"); err == nil {
			t.Errorf("%q resolves a bare name", project.ToolNames)
		}
		if _, err := s.Offers.Prompt("bye"); err == nil {
			t.Errorf("%q resolves a bare prompt", project.ToolNames)
		}
	}
}

// TestBareNamesDependOnTheView checks that hidden tools and those outside of a
// view have no influence on the names, and that the list has another hash when a
// name changes its form.
func TestBareNamesDependOnTheView(t *testing.T) {
	whole := Build(bareSource(bareProject(0)), noTarget)
	off := Build(bareSource(bareProject(0, "two__same")), noTarget)
	if got := listed(t, off, EraHandshake); !slices.Contains(got, "same") {
		t.Errorf("with the other one disabled: %v", got)
	}
	view := whole.View(Selection{
		Name: "one", Tool: func(t *Tool) bool { return t.Server.Config.Alias == "one" }, Names: func(string) bool { return false },
		Offers: func(alias string, _ []*Tool) bool { return alias == "one" }, Toolsets: func(*Tool) []string { return nil },
	})
	if got, want := listed(t, view, EraHandshake), []string{"lone", "same", "two__y", "no__y", "one__gateway_executeTool", "gateway_mine"}; !slices.Equal(got, want) {
		t.Errorf("in the view: %v, want %v", got, want)
	}
	if got := listedPrompts(t, view); !slices.Equal(got, []string{"hello", "bye"}) {
		t.Errorf("prompts of the view: %v", got)
	}
	if found, err := view.Resolve("same"); err != nil || found.FullName != "one__same" {
		t.Errorf("Resolve(same) in the view: %v, %v", found, err)
	}

	// A tool of another server changes the form of this name, and only that of
	// the list that has both.
	src := bareSource(bareProject(0))
	src.Tools["2"] = append(src.Tools["2"], plain("lone"))
	after := Rebuild(whole, src, noTarget)
	if got := listed(t, after, EraHandshake); got[0] != "one__lone" {
		t.Errorf("with a second one: %v", got)
	}
	if whole.ToolsHash() == after.ToolsHash() || whole.Offers.ListID(models.ListingPrompt) != after.Offers.ListID(models.ListingPrompt) {
		t.Error("the hashes are wrong")
	}
	renamedOnly := Build(bareSource(models.Project{}), noTarget)
	if renamedOnly.ToolsHash() == whole.ToolsHash() {
		t.Error("toolNames doesn't change the hash")
	}
}

func TestBareNameLimit(t *testing.T) {
	const limit = 20
	src := Source{Project: bareProject(limit), Servers: []models.Server{server("1", "one", nil)}, Tools: map[string][]models.Tool{"1": nil}}
	for _, n := range []int{limit - 1, limit, limit + 1} {
		src.Tools["1"] = append(src.Tools["1"], plain(strings.Repeat("x", n)))
	}
	s := Build(src, noTarget)
	got := listed(t, s, EraHandshake)
	if got[0] != strings.Repeat("x", limit-1) || got[1] != strings.Repeat("x", limit) || len(got[2]) != limit || got[2] == got[1] {
		t.Errorf("got %v", got)
	}
	for i, name := range got {
		for _, name := range []string{name, s.Tools[i].Name, s.Tools[i].FullName} {
			if found, err := s.Resolve(name); err != nil || found != s.Tools[i] {
				t.Errorf("Resolve(%q): %v", name, err)
			}
		}
	}
}
