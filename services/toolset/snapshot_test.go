package toolset

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/upstream"
)

func noTarget(models.Server) *upstream.Target { return &upstream.Target{} }

func server(id, alias string, change func(*models.Server)) models.Server {
	s := models.Server{ID: id, Alias: alias, Enabled: true, DefinitionPolicy: models.PolicyFollow}
	if change != nil {
		change(&s)
	}
	return s
}

func tool(name, definition string) models.Tool {
	return models.Tool{Name: name, Definition: definition, DefinitionHash: HashDefinition([]byte(definition))}
}

func plain(name string) models.Tool {
	return tool(name, fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"}}`, name))
}

func listed(t *testing.T, s *Snapshot, era Era) []string {
	t.Helper()
	var names []string
	for n := range s.Pages(era) {
		page, _, ok := s.Page(era, n)
		if !ok {
			t.Fatalf("page %d is missing", n)
		}
		var tools []struct{ Name string }
		if err := json.Unmarshal(page, &tools); err != nil {
			t.Fatalf("page %d: %v", n, err)
		}
		for _, tool := range tools {
			names = append(names, tool.Name)
		}
	}
	return names
}

func TestToolOrder(t *testing.T) {
	s := Build(Source{
		Servers: []models.Server{server("2", "beta", nil), server("1", "alpha", nil)},
		Tools:   map[string][]models.Tool{"1": {plain("z"), plain("a")}, "2": {plain("m")}},
	}, noTarget)
	if got := fmt.Sprint(listed(t, s, EraHandshake)); got != "[alpha__z alpha__a beta__m]" {
		t.Errorf("got %s", got)
	}
}

func TestExportChangesOnlyName(t *testing.T) {
	raw := "{ \"zeta\" : 12345678901234567890,\n\"name\" : \"x\" , \"inputSchema\":{\"type\":\"object\",\"b\":1e400,\"a\":1.0}, \"Name\":\"case\", \"outputSchema\":{\"type\":\"object\"}}"
	s := Build(Source{Servers: []models.Server{server("1", "a", nil)}, Tools: map[string][]models.Tool{"1": {tool("x", raw)}}}, noTarget)
	want := "[" + strings.Replace(raw, `"x"`, `"a__x"`, 1) + "]"
	for _, era := range []Era{EraHandshake, EraStateless} {
		page, more, ok := s.Page(era, 0)
		if string(page) != want || more || !ok {
			t.Errorf("era %d: got %s, want %s", era, page, want)
		}
	}
}

func TestHandshakeOutputSchemas(t *testing.T) {
	for _, schema := range []string{`{"type":"array"}`, `{"anyOf":[]}`, `true`, `{"type":["object","null"]}`, strings.Repeat(`{"not":`, 200) + `{}` + strings.Repeat(`}`, 200)} {
		raw := `{"name":"x","inputSchema":{"type":"object"},"outputSchema":` + schema + `,"title":"T"}`
		s := Build(Source{Servers: []models.Server{server("1", "a", nil)}, Tools: map[string][]models.Tool{"1": {tool("x", raw)}}}, noTarget)
		old, _, _ := s.Page(EraHandshake, 0)
		want := `[{"name":"a__x","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"result":` + schema + `},"required":["result"]},"title":"T"}]`
		if strings.Contains(schema, "not") { // nested too deeply
			want = `[{"name":"a__x","inputSchema":{"type":"object"},"title":"T"}]`
		}
		if string(old) != want {
			t.Errorf("%s: handshake clients got %s", schema, old)
		}
		now, _, _ := s.Page(EraStateless, 0)
		if !bytes.Contains(now, []byte(schema)) {
			t.Errorf("%s: stateless clients got %s", schema, now)
		}
	}
}

func TestResolveNotFoundAndDisabled(t *testing.T) {
	now := time.Now()
	synced := func(id string) *models.Inventory { return &models.Inventory{ServerID: id, SyncedAt: &now} }
	approved := plain("held_ok")
	approved.ApprovedHash = approved.DefinitionHash
	s := Build(Source{
		Project: models.Project{DisabledTools: models.StringList{"on__off"}},
		Servers: []models.Server{
			server("1", "on", func(s *models.Server) {
				s.AllowedTools, s.DenyTools = models.StringList{"*"}, models.StringList{"delete_*"}
			}),
			server("2", "down", func(s *models.Server) { s.Enabled = false }),
			server("3", "pinned", func(s *models.Server) { s.DefinitionPolicy = models.PolicyApprove }),
			server("4", "new", nil),
			server("5", "dead", nil),
			server("6", "born_off", func(s *models.Server) { s.Enabled = false }),
		},
		Inventories: map[string]*models.Inventory{"1": synced("1"), "2": synced("2"), "3": synced("3"),
			"5": {ServerID: "5", ErrorCode: string(fault.CodeUpstreamTimeout), ErrorMessage: "no answer within 20 s"}},
		Tools: map[string][]models.Tool{
			"1": {plain("echo"), plain("off"), plain("delete_x"), plain("__odd")},
			"2": {plain("echo2")}, "3": {plain("held"), approved},
		},
	}, noTarget)
	for _, tc := range []struct {
		name    string
		code    fault.Code
		message string
	}{
		{"on__echo", "", ""},
		{"on____odd", "", ""},
		{"pinned__held_ok", "", ""},
		{"on__off", fault.CodeToolDisabled, "disabled by"},
		{"on__delete_x", fault.CodeToolDisabled, "filter"},
		{"down__echo2", fault.CodeToolDisabled, "disabled"},
		{"pinned__held", fault.CodeToolDisabled, "approval"},
		{"echo", fault.CodeToolNotFound, "write on__echo"},
		{"nothing", fault.CodeToolNotFound, "alias__tool"},
		{"echo2", fault.CodeToolNotFound, "alias__tool"},
		{"no__echo", fault.CodeToolNotFound, `alias "no"`},
		{"new__echo", fault.CodeUpstreamUnavailable, "not been synced yet"},
		{"dead__echo", fault.CodeUpstreamTimeout, "no answer within 20 s"},
		{"born_off__echo", fault.CodeToolDisabled, "disabled"},
		{"on__missing", fault.CodeToolNotFound, `no tool "missing"`},
		{"", fault.CodeToolNotFound, "alias__tool"},
		{"ON__echo", fault.CodeToolNotFound, `alias "ON"`},
		{strings.Repeat("x", 5000), fault.CodeToolNotFound, "…"},
	} {
		tool, err := s.Resolve(tc.name)
		switch {
		case tc.code == "" && (err != nil || tool.FullName != tc.name):
			t.Errorf("%s: %v", tc.name, err)
		case tc.code != "" && (!fault.Is(err, tc.code) || !strings.Contains(err.Error(), tc.message)):
			t.Errorf("Resolve(%s) = %v, want %s with %q", tc.name, err, tc.code, tc.message)
		case tc.code != "" && len(err.Error()) > 1000:
			t.Errorf("the message has %d bytes", len(err.Error()))
		}
	}
	if got := fmt.Sprint(listed(t, s, EraStateless)); got != "[on__echo on____odd pinned__held_ok]" {
		t.Errorf("listed %s", got)
	}
	if len(s.AllTools()) != 7 {
		t.Errorf("AllTools has %d", len(s.AllTools()))
	}
}

func TestShortAndFullNamesResolve(t *testing.T) {
	long := strings.Repeat("long_", 20)
	s := Build(Source{
		Project: models.Project{ToolNameLimit: 64}, Servers: []models.Server{server("1", "a", nil)},
		Tools: map[string][]models.Tool{"1": {plain(long), plain("short")}},
	}, noTarget)
	names := listed(t, s, EraHandshake)
	if len(names[0]) != 64 || names[1] != "a__short" {
		t.Fatalf("listed %q", names)
	}
	for _, name := range []string{names[0], "a__" + long} {
		if tool, err := s.Resolve(name); err != nil || tool.Upstream != long {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPageLimits(t *testing.T) {
	tools := func(n int) []models.Tool {
		out := make([]models.Tool, n)
		for i := range out {
			out[i] = plain(fmt.Sprintf("t%05d", i))
		}
		return out
	}
	for _, tc := range []struct{ tools, pages int }{{0, 1}, {MaxPageTools - 1, 1}, {MaxPageTools, 1}, {MaxPageTools + 1, 2}} {
		s := Build(Source{Servers: []models.Server{server("1", "a", nil)}, Tools: map[string][]models.Tool{"1": tools(tc.tools)}}, noTarget)
		if got := s.Pages(EraHandshake); got != tc.pages {
			t.Errorf("%d tools: %d pages", tc.tools, got)
		}
		if got := len(listed(t, s, EraHandshake)); got != tc.tools {
			t.Errorf("%d tools: %d listed", tc.tools, got)
		}
		if _, more, _ := s.Page(EraHandshake, tc.pages-1); more {
			t.Error("more = true on the last page")
		}
		if _, _, ok := s.Page(EraHandshake, tc.pages); ok {
			t.Error("found a page after the last")
		}
	}
	big := tool("big", `{"name":"big","description":"`+strings.Repeat("x", MaxPageBytes)+`"}`)
	s := Build(Source{Servers: []models.Server{server("1", "a", nil)}, Tools: map[string][]models.Tool{"1": {plain("a"), big, plain("z")}}}, noTarget)
	if s.Pages(EraHandshake) != 3 || len(listed(t, s, EraHandshake)) != 3 {
		t.Errorf("definition larger than a page: %d pages", s.Pages(EraHandshake))
	}
}

func BenchmarkResolve(b *testing.B) {
	var rows []models.Tool
	for i := range 5000 {
		rows = append(rows, plain(fmt.Sprintf("tool_%d", i)))
	}
	s := Build(Source{Servers: []models.Server{server("1", "a", nil)}, Tools: map[string][]models.Tool{"1": rows}}, noTarget)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Resolve("a__tool_2500"); err != nil {
			b.Fatal(err)
		}
	}
}

func TestRebuildEqualsBuild(t *testing.T) {
	source := func() Source {
		return Source{
			Servers: []models.Server{server("1", "alpha", nil), server("2", "beta", nil)},
			Tools: map[string][]models.Tool{
				"1": {plain("a"), tool("broken", `{"name":"broken","inputSchema":{"$ref":"https://example.com/x"}}`), plain("a_rather_long_name_that_is_shortened")},
				"2": {plain("a"), tool("output", `{"name":"output","inputSchema":{"type":"object"},"outputSchema":{"type":"string"}}`)},
			},
		}
	}
	before := Build(source(), noTarget)
	for name, change := range map[string]func(*Source){
		"nothing":                     func(*Source) {},
		"a definition":                func(s *Source) { s.Tools["1"][0] = tool("a", `{"name":"a","description":"new"}`) },
		"a repaired definition":       func(s *Source) { s.Tools["1"][1] = plain("broken") },
		"a broken definition":         func(s *Source) { s.Tools["2"][0] = tool("a", `{"name":"a","inputSchema":7}`) },
		"not an object":               func(s *Source) { s.Tools["2"][0].Definition = "7" },
		"a removed tool":              func(s *Source) { s.Tools["1"] = s.Tools["1"][1:] },
		"a new tool":                  func(s *Source) { s.Tools["1"] = append(s.Tools["1"], plain("b")) },
		"the order":                   func(s *Source) { s.Tools["1"][0], s.Tools["1"][2] = s.Tools["1"][2], s.Tools["1"][0] },
		"an alias":                    func(s *Source) { s.Servers[0].Alias = "gamma" },
		"aliases, swapped":            func(s *Source) { s.Servers[0].Alias, s.Servers[1].Alias = "beta", "alpha" },
		"a disabled server":           func(s *Source) { s.Servers[1].Enabled = false },
		"a filter":                    func(s *Source) { s.Servers[0].DenyTools = []string{"a"} },
		"a disabled tool":             func(s *Source) { s.Project.DisabledTools = []string{"beta__a"} },
		"the name limit":              func(s *Source) { s.Project.ToolNameLimit = 32 },
		"an approval":                 func(s *Source) { s.Servers[0].DefinitionPolicy = models.PolicyApprove },
		"another previous definition": func(s *Source) { s.Tools["1"][0].PreviousDefinition = `{"name":"a","title":"old"}` },
	} {
		t.Run(name, func(t *testing.T) {
			src := source()
			change(&src)
			got, want := Rebuild(before, src, noTarget), Build(src, noTarget)
			if diff := cmp.Diff(want.AllTools(), got.AllTools(), cmpopts.IgnoreTypes(upstream.Forwarding{}), cmpopts.IgnoreUnexported(upstream.Target{}, Tool{})); diff != "" {
				t.Error(diff)
			}
			for _, era := range []Era{EraHandshake, EraStateless} {
				if a, b := fmt.Sprint(listed(t, want, era)), fmt.Sprint(listed(t, got, era)); a != b {
					t.Errorf("%s is listed, want %s", b, a)
				}
			}
			if want.ToolsHash() != got.ToolsHash() {
				t.Error("different list hash")
			}
		})
	}
}

func TestRebuildReusesUnchangedTools(t *testing.T) {
	src := Source{Servers: []models.Server{server("1", "a", nil)}, Tools: map[string][]models.Tool{"1": {plain("kept"), plain("changed")}}}
	before := Build(src, noTarget)
	src.Tools = map[string][]models.Tool{"1": {plain("kept"), tool("changed", `{"name":"changed"}`)}}
	after := Rebuild(before, src, noTarget)
	for i, kept := range []bool{true, false} {
		if same := &before.Tools[i].Raw[0] == &after.Tools[i].Raw[0]; same != kept {
			t.Errorf("%s: same bytes: %t", after.Tools[i].Name, same)
		}
		if before.Tools[i] == after.Tools[i] {
			t.Errorf("%s is shared by two snapshots", after.Tools[i].Name)
		}
	}
}

// many returns a project with servers of tools tools each.
func many(servers, tools int) Source {
	src := Source{Tools: map[string][]models.Tool{}}
	for n := range servers {
		id := fmt.Sprintf("s%d", n)
		src.Servers = append(src.Servers, server(id, id, nil))
		for i := range tools {
			definition := fmt.Sprintf(`{"name":"tool_%d","description":%q,"inputSchema":{"type":"object","properties":{"id":{"type":"string"}}}}`, i, strings.Repeat("word ", 80))
			src.Tools[id] = append(src.Tools[id], tool(fmt.Sprintf("tool_%d", i), definition))
		}
	}
	return src
}

// BenchmarkRebuild measures a settings change of a project with 200 servers.
func BenchmarkRebuild(b *testing.B) {
	src := many(200, 50)
	for name, before := range map[string]*Snapshot{"from nothing": nil, "with the last": Build(src, noTarget)} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Rebuild(before, src, noTarget)
			}
		})
	}
}
