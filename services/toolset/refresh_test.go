package toolset

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"mcpgateway/models"
	"mcpgateway/services/toolset/addresses"
	"mcpgateway/services/upstream"
)

// offered returns everything that clients see of a snapshot.
func offered(t *testing.T, s *Snapshot) map[string]string {
	t.Helper()
	seen := map[string]string{
		"tools": fmt.Sprint(listed(t, s, EraHandshake)), "tools of stateless clients": fmt.Sprint(listed(t, s, EraStateless)),
		"hash": s.ToolsHash(), "capabilities": fmt.Sprint(s.Capabilities),
	}
	for _, kind := range []models.ListingKind{models.ListingPrompt, models.ListingResource, models.ListingTemplate} {
		page, _, _ := s.Offers.Page(kind, 0)
		seen[string(kind)] = s.Offers.ListID(kind) + string(page)
	}
	for _, uri := range []string{"test://a", "test://b", "test://t/1", "test://+beta/a", "test://z"} {
		if resource, err := s.Offers.Resource(uri); err == nil {
			seen[uri] = resource.Server.Config.Alias + " " + resource.URI
		}
	}
	for _, name := range []string{"alpha__hello", "beta__hello", "beta__other"} {
		if prompt, err := s.Offers.Prompt(name); err == nil {
			seen[name] = prompt.Upstream + " of " + prompt.Server.Config.Alias
		}
	}
	return seen
}

func listing(kind models.ListingKind, ident string) models.Listing {
	return models.Listing{Kind: kind, Ident: ident, Definition: fmt.Sprintf(`{"name":%q}`, ident)}
}

// claimsOf returns the claims of servers that were synced in the order of their
// ids, later alphabetically first.
func claimsOf(src Source) (claims []models.AddressClaim) {
	for i, server := range src.Servers {
		for _, t := range addresses.ShownBy(src.Tools[server.ID], src.Listings[server.ID]) {
			hash := sha256.Sum256([]byte(t.Text))
			claims = append(claims, models.AddressClaim{Alias: server.Alias, Kind: t.Kind, Text: t.Text, TextHash: hash[:], Position: int64(i + 1)})
		}
	}
	return claims
}

func TestRefreshEqualsBuild(t *testing.T) {
	at := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	inventory := func(id, capabilities string) *models.Inventory {
		return &models.Inventory{ServerID: id, SyncedAt: &at, Capabilities: capabilities}
	}
	source := func() Source {
		return Source{
			Project: models.Project{ToolNameLimit: 32, DisabledTools: []string{"beta__off"}},
			Servers: []models.Server{server("2", "beta", nil), server("1", "alpha", nil), server("3", "gamma", func(s *models.Server) { s.Enabled = false })},
			Inventories: map[string]*models.Inventory{
				"1": inventory("1", `{"tools":{}}`), "2": inventory("2", `{"prompts":{},"resources":{"subscribe":true}}`),
			},
			Tools: map[string][]models.Tool{"1": {tool("a", `{"name":"a","_meta":{"ui":{"resourceUri":"ui://a"}}}`), plain("a_rather_long_name_that_is_shortened")}, "2": {plain("a"), plain("off")}, "3": {plain("g")}},
			Listings: map[string][]models.Listing{
				"1": {listing(models.ListingResource, "test://a")},
				"2": {listing(models.ListingResource, "test://a"), listing(models.ListingPrompt, "hello"), listing(models.ListingTemplate, "test://t/{n}")},
			},
		}
	}
	first := source()
	first.Claims = claimsOf(first)
	before := Build(first, noTarget)
	for name, change := range map[string]func(*Source){
		"nothing":              func(*Source) {},
		"another definition":   func(s *Source) { s.Tools["2"][0] = tool("a", `{"name":"a","description":"new"}`) },
		"an old output schema": func(s *Source) { s.Tools["2"][0] = tool("a", `{"name":"a","outputSchema":{"type":"string"}}`) },
		"broken definition":    func(s *Source) { s.Tools["2"][0] = tool("a", `{"name":"a","inputSchema":7}`) },
		"additional tool": func(s *Source) {
			s.Tools["2"] = append(s.Tools["2"], plain("b"), plain("another_long_name_that_is_shortened"))
		},
		"no tool":            func(s *Source) { delete(s.Tools, "2") },
		"other capabilities": func(s *Source) { s.Inventories["2"] = inventory("2", `{"logging":{},"completions":{}}`) },
		"another prompt":     func(s *Source) { s.Listings["2"][1] = listing(models.ListingPrompt, "other") },
		"another resource":   func(s *Source) { s.Listings["2"][0] = listing(models.ListingResource, "test://b") },
		"a user interface of two": func(s *Source) {
			s.Tools["2"][0] = tool("a", `{"name":"a","_meta":{"ui":{"resourceUri":"ui://a"}}}`)
		},
		"no template": func(s *Source) { s.Listings["2"] = s.Listings["2"][:2] },
		"a failure": func(s *Source) {
			s.Inventories["2"] = &models.Inventory{ServerID: "2", SyncedAt: &at, ErrorCode: "UPSTREAM_TIMEOUT", ErrorMessage: "no answer"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			src := source()
			change(&src)
			// Only the server's rows are available.
			src.Claims = claimsOf(src)
			changed := Source{Claims: src.Claims, Inventories: map[string]*models.Inventory{"2": src.Inventories["2"]}, Tools: map[string][]models.Tool{"2": src.Tools["2"]}, Listings: map[string][]models.Listing{"2": src.Listings["2"]}}
			got, want := Refresh(before, []string{"2"}, changed), Build(src, noTarget)
			if d := cmp.Diff(want.AllTools(), got.AllTools(), cmpopts.IgnoreTypes(upstream.Forwarding{}), cmpopts.IgnoreUnexported(upstream.Target{}, Tool{})); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(want.Servers, got.Servers, cmpopts.IgnoreTypes(upstream.Forwarding{}), cmpopts.IgnoreUnexported(upstream.Target{}, Tool{})); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(offered(t, want), offered(t, got)); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
			for _, tool := range want.AllTools() {
				for _, name := range []string{tool.Name, tool.FullName} {
					a, errA := want.Resolve(name)
					b, errB := got.Resolve(name)
					if fmt.Sprint(errA) != fmt.Sprint(errB) || errA == nil && a.Upstream != b.Upstream {
						t.Errorf("%s: %v, want %v", name, errB, errA)
					}
				}
			}
		})
	}
}

func TestRefreshSharesUnchangedParts(t *testing.T) {
	src := Source{
		Servers: []models.Server{server("1", "a", nil), server("2", "b", nil)},
		Tools:   map[string][]models.Tool{"1": {plain("x")}, "2": {plain("x"), plain("y")}},
	}
	before := Build(src, noTarget)
	after := Refresh(before, []string{"2"}, Source{Tools: map[string][]models.Tool{"2": {tool("x", `{"name":"x"}`), plain("y")}}})
	if before.Tools[0] != after.Tools[0] || before.Servers[0] != after.Servers[0] {
		t.Error("an unchanged server was rebuilt")
	}
	if before.Tools[1] == after.Tools[1] || before.Servers[1] == after.Servers[1] {
		t.Error("a changed server is shared by two snapshots")
	}
	if &before.Tools[2].Raw[0] != &after.Tools[2].Raw[0] {
		t.Error("an unchanged definition was parsed again")
	}
	if got := fmt.Sprint(listed(t, before, EraStateless)); got != "[a__x b__x b__y]" {
		t.Errorf("earlier snapshot lists %s", got)
	}
}

// TestNamesShortenedWithinAliasResolve shortens names within the
// alias, also to a prefix of another server's alias.
func TestNamesShortenedWithinAliasResolve(t *testing.T) {
	const limit = 32
	long := "a_rather_long_alias.of"
	aliases := []string{long, long + ".a", long + ".abcdef", long[:len(long)-1] + "_x", "short"}
	src := Source{Project: models.Project{ToolNameLimit: limit}, Tools: map[string][]models.Tool{}, Listings: map[string][]models.Listing{}}
	for i, alias := range aliases {
		id := fmt.Sprint(i)
		src.Servers = append(src.Servers, server(id, alias, nil))
		src.Tools[id] = []models.Tool{plain("tool"), plain("a_tool_with_a_long_name")}
		src.Listings[id] = []models.Listing{listing(models.ListingPrompt, "prompt"), listing(models.ListingPrompt, "a_prompt_with_a_long_name")}
	}
	s := Build(src, noTarget)
	shortened := 0
	for _, tool := range s.Tools {
		for _, name := range []string{tool.Name, tool.FullName} {
			if got, err := s.Resolve(name); err != nil || got != tool {
				t.Errorf("%s: %v", name, err)
			}
		}
		if len(tool.Name) > limit {
			t.Errorf("%s is too long", tool.Name)
		}
		if tool.Name != tool.FullName {
			shortened++
		}
	}
	if shortened < len(aliases) {
		t.Errorf("only %d names were shortened", shortened)
	}
	for _, alias := range aliases {
		for _, ident := range []string{"prompt", "a_prompt_with_a_long_name"} {
			full := JoinName(alias, ident)
			for _, name := range []string{full, ShortenName(full, limit)} {
				if got, err := s.Offers.Prompt(name); err != nil || got.Upstream != ident || got.Server.Config.Alias != alias {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
	}
	if _, err := s.Resolve(ShortenName(JoinName(long, "another_tool_with_a_long_name"), limit)); err == nil {
		t.Error("no tool resolves")
	}
}

// BenchmarkRefresh measures a sync of one server in a project with n servers of
// 50 tools, without the list, which is created on demand.
func BenchmarkRefresh(b *testing.B) {
	for _, n := range []int{50, 200} {
		src := many(n, 50)
		before := Build(src, noTarget)
		changed := Source{Tools: map[string][]models.Tool{"s7": slices.Clone(src.Tools["s7"])}}
		changed.Tools["s7"][3] = tool("tool_3", `{"name":"tool_3"}`)
		b.Run(fmt.Sprintf("%d servers", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Refresh(before, []string{"s7"}, changed)
			}
		})
	}
}
