package toolset

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcpgateway/models"
	"mcpgateway/services/fault"
)

// overriding returns a snapshot of the server a with overrides, and its source.
func overriding(t *testing.T, before *Snapshot, overrides string, change func(*models.Project, *models.Server), tools ...models.Tool) *Snapshot {
	t.Helper()
	now := time.Now()
	src := Source{
		Servers:     []models.Server{server("1", "a", nil)},
		Inventories: map[string]*models.Inventory{"1": {ServerID: "1", SyncedAt: &now}},
		Tools:       map[string][]models.Tool{"1": tools},
	}
	if err := json.Unmarshal([]byte(overrides), &src.Servers[0].ToolOverrides); err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(&src.Project, &src.Servers[0])
	}
	return Rebuild(before, src, noTarget)
}

// states returns the full names of all tools with what hides them.
func states(s *Snapshot) map[string]Hidden {
	all := map[string]Hidden{}
	for _, t := range s.AllTools() {
		all[t.FullName+" = "+t.Upstream] = t.Hidden
	}
	return all
}

func codes(warnings []fault.Warning) (all []string) {
	for _, w := range warnings {
		all = append(all, w.Code)
	}
	return all
}

func TestRenamedToolNames(t *testing.T) {
	s := overriding(t, nil, `{"get_x":{"as":"fetch.it","title":"T"}}`, nil, plain("get_x"), plain("other"))
	if got := fmt.Sprint(listed(t, s, EraHandshake), listed(t, s, EraStateless)); got != "[a__fetch.it a__other] [a__fetch.it a__other]" {
		t.Errorf("listed %s", got)
	}
	tool, err := s.Resolve("a__fetch.it")
	if err != nil || tool.Upstream != "get_x" || tool.Local() != "fetch.it" || tool.OwnName() != "a__get_x" {
		t.Fatalf("Resolve() = %+v, %v", tool, err)
	}
	for _, former := range []string{"a__get_x", "get_x"} {
		_, err := s.Resolve(former)
		_, never := s.Resolve(strings.Replace(former, "get_x", "get_y", 1))
		if fault.From(err).Code != fault.CodeToolNotFound || strings.ReplaceAll(err.Error(), "get_x", "get_y") != never.Error() {
			t.Errorf("Resolve(%s) = %v, a name that never was: %v", former, err, never)
		}
	}
}

func TestTakenNamesAreHeldBack(t *testing.T) {
	held := func(name string) string { // unique, for pages
		s := overriding(t, nil, `{"z":{"as":"x"}}`, nil, plain("z"), plain(name))
		return s.AllTools()[1].FullName
	}
	for name, tt := range map[string]struct {
		overrides string
		tools     []string
		want      map[string]Hidden
	}{
		"earlier tool": {`{"b":{"as":"x"}}`, []string{"x", "b"}, map[string]Hidden{held("x") + " = x": HiddenByName, "a__x = b": Visible}},
		"later tool":   {`{"b":{"as":"x"}}`, []string{"b", "x"}, map[string]Hidden{"a__x = b": Visible, held("x") + " = x": HiddenByName}},
		"two renamed":  {`{"b":{"as":"x"},"c":{"as":"x"}}`, []string{"b", "c"}, map[string]Hidden{"a__x = b": Visible, "a__c_2e7d2c03 = c": HiddenByName}},
		"swapped":      {`{"b":{"as":"c"},"c":{"as":"b"}}`, []string{"b", "c"}, map[string]Hidden{"a__c = b": Visible, "a__b = c": Visible}},
		"same name":    {`{"b":{"as":"b"}}`, []string{"b"}, map[string]Hidden{"a__b = b": Visible}},
		"gone":         {`{"b":{"as":"x"}}`, []string{"x"}, map[string]Hidden{"a__x = x": Visible}},
	} {
		t.Run(name, func(t *testing.T) {
			var tools []models.Tool
			for _, n := range tt.tools {
				tools = append(tools, plain(n))
			}
			s := overriding(t, nil, tt.overrides, nil, tools...)
			if diff := cmp.Diff(tt.want, states(s)); diff != "" {
				t.Error(diff)
			}
			taken := 0
			for _, tool := range s.AllTools() {
				if tool.Hidden == HiddenByName {
					taken++
					if _, err := s.Resolve(tool.FullName); fault.From(err).Code != fault.CodeToolDisabled || !strings.Contains(err.Error(), "held back because another tool has its name") {
						t.Errorf("Resolve(%s) = %v", tool.FullName, err)
					}
				}
			}
			warned := strings.Count(fmt.Sprint(codes(s.Servers[0].OverrideWarnings)), WarnNameTaken)
			if warned != taken {
				t.Errorf("%d warnings, %d tools held back", warned, taken)
			}
		})
	}
}

func TestOverriddenDefinition(t *testing.T) {
	raw := `{"name":"x","title":"Old","description":"d","inputSchema":{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{}},"required":["a"]},"annotations":{"destructiveHint":true}}`
	overrides := `{"x":{"title":"New","annotations":{"readOnlyHint":true},"fixed":{"a":"v"},"defaults":{"b":1}}}`
	s := overriding(t, nil, overrides, nil, tool("x", raw), plain("y"))
	x, err := s.Resolve("a__x")
	if err != nil {
		t.Fatal(err)
	}
	want := `{"name":"a__x","title":"New","description":"d","inputSchema":{"type":"object","properties":{"b":{"default":1}}},"annotations":{"destructiveHint":true,"readOnlyHint":true}}`
	if string(x.Definition) != want || !x.Repeatable || x.Access != AccessRead || x.Hints != (Hints{ReadOnly: true}) || x.Own != AccessDestructive {
		t.Errorf("got %s %+v", x.Definition, x)
	}
	if x.Hash != HashDefinition([]byte(raw)) || string(x.Raw) != raw || len(x.ParamHeaders) != 1 {
		t.Error("the server's own definition changed")
	}
	if y, _ := s.Resolve("a__y"); y.Override != nil {
		t.Error("another tool has the override")
	}

	again := overriding(t, s, overrides, nil, tool("x", raw), plain("y"))
	if kept, _ := again.Resolve("a__x"); &kept.Definition[0] != &x.Definition[0] || kept.Override != x.Override {
		t.Error("an unchanged tool was read again")
	}
	changed := overriding(t, s, `{"x":{"title":"Newer"}}`, nil, tool("x", raw), plain("y"))
	if now, _ := changed.Resolve("a__x"); !strings.Contains(string(now.Definition), "Newer") || !strings.Contains(string(now.Definition), `"required":["a"]`) || now.SameOverride(x) {
		t.Errorf("after a change: %s", now.Definition)
	}
}

func TestLostFixedArgumentHoldsToolBack(t *testing.T) {
	s := overriding(t, nil, `{"x":{"fixed":{"gone":1}},"y":{"defaults":{"gone":1}},"no":{"title":"T"}}`, nil, plain("x"), plain("y"))
	if diff := cmp.Diff(map[string]Hidden{"a__x = x": HiddenByOverride, "a__y = y": Visible}, states(s)); diff != "" {
		t.Error(diff)
	}
	if _, err := s.Resolve("a__x"); fault.From(err).Code != fault.CodeToolDisabled || strings.Contains(err.Error(), "gone") {
		t.Errorf("Resolve() = %v", err)
	}
	if got := fmt.Sprint(codes(s.Servers[0].OverrideWarnings)); got != "[OVERRIDE_STALE OVERRIDE_STALE OVERRIDE_STALE]" {
		t.Errorf("warnings %s", got)
	}
	unsynced := Build(Source{Servers: []models.Server{server("1", "a", func(s *models.Server) {
		s.ToolOverrides = models.ToolOverrides{"x": {Fixed: map[string]json.RawMessage{"a": []byte("1")}}}
	})}}, noTarget)
	if w := unsynced.Servers[0].OverrideWarnings; len(w) > 0 {
		t.Errorf("before the first sync: %v", w)
	}
}

func TestFiltersGoByOwnName(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*models.Project, *models.Server)
		want   Hidden
	}{
		"deny own":     {func(_ *models.Project, s *models.Server) { s.DenyTools = models.StringList{"x"} }, HiddenByFilter},
		"deny new":     {func(_ *models.Project, s *models.Server) { s.DenyTools = models.StringList{"new"} }, Visible},
		"allow own":    {func(_ *models.Project, s *models.Server) { s.AllowedTools = models.StringList{"x"} }, Visible},
		"allow new":    {func(_ *models.Project, s *models.Server) { s.AllowedTools = models.StringList{"new"} }, HiddenByFilter},
		"disabled own": {func(p *models.Project, _ *models.Server) { p.DisabledTools = models.StringList{"a__x"} }, HiddenByAdmin},
		"disabled new": {func(p *models.Project, _ *models.Server) { p.DisabledTools = models.StringList{"a__new"} }, HiddenByAdmin},
		"approval":     {func(_ *models.Project, s *models.Server) { s.DefinitionPolicy = models.PolicyApprove }, Visible},
	} {
		t.Run(name, func(t *testing.T) {
			x := plain("x")
			x.ApprovedHash = x.DefinitionHash // of the server's own definition
			s := overriding(t, nil, `{"x":{"as":"new","description":"other"}}`, tt.change, x)
			if got := s.AllTools()[0].Hidden; got != tt.want {
				t.Errorf("hidden %q, want %q", got, tt.want)
			}
		})
	}
}

// TestToolsetAccess covers what toolsets go by when a server's annotations and
// those of an override disagree with what was confirmed.
func TestToolsetAccess(t *testing.T) {
	const none, additive, read = `{}`, `{"destructiveHint":false}`, `{"readOnlyHint":true}`
	for name, tt := range map[string]struct {
		annotations, confirmed, override string
		want                             Access
		pending                          bool
	}{
		"first sight":              {read, "", `{}`, AccessRead, false},
		"confirmed":                {read, "read", `{}`, AccessRead, false},
		"safer":                    {read, "destructive", `{}`, AccessDestructive, true},
		"safer by one step":        {additive, "destructive", `{}`, AccessDestructive, true},
		"read-only after write":    {read, "write", `{}`, AccessWrite, true},
		"less safe":                {none, "read", `{}`, AccessDestructive, false},
		"override at once":         {read, "destructive", `{"readOnlyHint":true}`, AccessRead, false},
		"override of one hint":     {read, "destructive", `{"destructiveHint":false}`, AccessWrite, true},
		"override to less safe":    {read, "read", `{"readOnlyHint":false,"destructiveHint":true}`, AccessDestructive, false},
		"override of another hint": {read, "destructive", `{"idempotentHint":true}`, AccessDestructive, true},
		"unknown value":            {read, "newer", `{}`, AccessDestructive, true},
	} {
		t.Run(name, func(t *testing.T) {
			x := tool("x", `{"name":"x","inputSchema":{"type":"object"},"annotations":`+tt.annotations+`}`)
			x.ConfirmedAccess = tt.confirmed
			s := overriding(t, nil, `{"x":{"title":"T","annotations":`+tt.override+`}}`, nil, x)
			got := s.AllTools()[0]
			if got.ToolsetAccess != tt.want || got.AccessPending != tt.pending {
				t.Errorf("access %s, pending %v; want %s, %v", got.ToolsetAccess, got.AccessPending, tt.want, tt.pending)
			}
		})
	}
}
