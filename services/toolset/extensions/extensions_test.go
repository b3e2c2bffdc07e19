package extensions_test

import (
	"fmt"
	"strings"
	"testing"

	"mcpgateway/models"
	"mcpgateway/services/gateway/gatewaytest"
	"mcpgateway/services/toolset"
	"mcpgateway/services/toolset/extensions"
)

const ui = "io.modelcontextprotocol/ui"

// source returns a project with servers a, b, … that declare the raw extensions,
// each with the tool t.
func source(declared ...string) toolset.Source {
	src := gatewaytest.Source()
	src.Servers, src.Inventories = nil, map[string]*models.Inventory{}
	for i, raw := range declared {
		id := string(rune('a' + i))
		src.Servers = append(src.Servers, models.Server{ID: id, Alias: id, Enabled: true, DefinitionPolicy: models.PolicyFollow})
		src.Inventories[id] = &models.Inventory{ServerID: id, Capabilities: `{"tools":{},"resources":{},"extensions":` + raw + `}`}
		src.Tools[id] = []models.Tool{{ServerID: id, Name: "t", Definition: `{"name":"t","inputSchema":{"type":"object"}}`}}
	}
	return src
}

func TestMerge(t *testing.T) {
	vendor := func(name, settings string) string { return `{"` + name + `":` + settings + `}` }
	for _, tc := range []struct {
		name      string
		supported extensions.Supported
		declared  []string
		want      string
	}{
		{"none", extensions.Supported{}, []string{`{}`, `null`, `7`}, ""},
		{"union", extensions.Supported{}, []string{vendor("com.example/b", "{}"), vendor("com.example/a", `{"x": 1e400}`)}, `{"com.example/a":{"x": 1e400},"com.example/b":{}}`},
		{"official", extensions.Supported{}, []string{`{"` + ui + `":{},"io.modelcontextprotocol/skills":{},"io.modelcontextprotocol/tasks":{},"io.modelcontextprotocol/oauth-client-credentials":{}}`}, `{"` + ui + `":{}}`},
		{"supported", extensions.Supported{Tasks: true, Skills: true}, []string{`{"io.modelcontextprotocol/skills":{"directoryRead":true},"io.modelcontextprotocol/tasks":{}}`}, `{"io.modelcontextprotocol/skills":{"directoryRead":true},"io.modelcontextprotocol/tasks":{}}`},
		{"not all have directoryRead", extensions.Supported{Skills: true}, []string{vendor("io.modelcontextprotocol/skills", `{"directoryRead":true,"x":{"a":1,"b":2}}`), vendor("io.modelcontextprotocol/skills", `{"x":{"b":2,"a":1}}`)}, `{"io.modelcontextprotocol/skills":{"x":{"a":1,"b":2}}}`},
		{"different values", extensions.Supported{}, []string{vendor("v/x", `{"a":1}`), vendor("v/x", `{"a":2}`)}, `{"v/x":{}}`},
		{"same bytes", extensions.Supported{}, []string{vendor("v/x", `{ "a":1, "a":1 }`), vendor("v/x", `{ "a":1, "a":1 }`)}, `{"v/x":{ "a":1, "a":1 }}`},
		{"settings of another type", extensions.Supported{}, []string{vendor("v/x", `true`), vendor("v/y", `null`)}, ""},
		{"escaped name", extensions.Supported{}, []string{vendor(`v/\"\u0001`, `{}`)}, `{"v/\"\u0001":{}}`},
		{"empty name", extensions.Supported{}, []string{vendor("", `{}`)}, ""},
	} {
		if got := extensions.Of(gatewaytest.Build(source(tc.declared...)), tc.supported); string(got) != tc.want {
			t.Errorf("%s: got %s, want %s", tc.name, got, tc.want)
		}
	}
}

// TestOnlyShownServersCount hides a server in the ways that it can be hidden.
func TestOnlyShownServersCount(t *testing.T) {
	for name, hide := range map[string]func(*toolset.Source){
		"disabled":        func(s *toolset.Source) { s.Servers[0].Enabled = false },
		"filtered":        func(s *toolset.Source) { s.Servers[0].DenyTools = models.StringList{"*"} },
		"disabled tool":   func(s *toolset.Source) { s.Project.DisabledTools = models.StringList{"a__t"} },
		"without content": func(s *toolset.Source) { s.Tools["a"] = nil },
		"never read":      func(s *toolset.Source) { s.Inventories["a"] = nil },
	} {
		src := source(`{"v/a":{}}`, `{"v/b":{}}`)
		hide(&src)
		if got := extensions.Of(gatewaytest.Build(src), extensions.Supported{}); string(got) != `{"v/b":{}}` {
			t.Errorf("%s: %s", name, got)
		}
	}
	src := source(`{"v/a":{}}`)
	src.Tools["a"], src.Listings = nil, map[string][]models.Listing{"a": {{ServerID: "a", Kind: models.ListingPrompt, Ident: "p", Definition: `{"name":"p"}`}}}
	if got := extensions.Of(gatewaytest.Build(src), extensions.Supported{}); string(got) != `{"v/a":{}}` {
		t.Errorf("a server with prompts only: %s", got)
	}
	src = source(`{"v/a":{}}`, `{"v/b":{}}`)
	view := gatewaytest.Build(src).View(toolset.Selection{
		Name: "b", Tool: func(t *toolset.Tool) bool { return t.FullName == "b__t" },
		Offers: func(string, []*toolset.Tool) bool { return false }, Names: func(string) bool { return false },
	})
	if got := extensions.Of(view, extensions.Supported{}); string(got) != `{"v/b":{}}` {
		t.Errorf("a view: %s", got)
	}
	src = source(`{"io.modelcontextprotocol/skills":{}}`)
	src.Tools["a"] = nil // and the list of skills can be empty
	for offers, want := range map[bool]string{true: `{"io.modelcontextprotocol/skills":{}}`, false: ""} {
		view := gatewaytest.Build(src).View(toolset.Selection{
			Name: "a", Tool: func(*toolset.Tool) bool { return true },
			Offers: func(string, []*toolset.Tool) bool { return offers }, Names: func(string) bool { return true },
		})
		if got := extensions.Of(view, extensions.Supported{Skills: true}); string(got) != want {
			t.Errorf("skills, offers %t: %s", offers, got)
		}
	}
}

func TestAppsAreAdvertised(t *testing.T) {
	for _, tc := range []struct {
		name, meta, declared, want string
		edit                       func(*toolset.Source)
	}{
		{"ui.resourceUri", `{"ui":{"resourceUri":"ui://x"}}`, `{}`, `{"` + ui + `":{}}`, nil},
		{"ui/resourceUri", `{"ui/resourceUri":"ui://x"}`, `{}`, `{"` + ui + `":{}}`, nil},
		{"declared too", `{"ui":{"resourceUri":"ui://x"}}`, `{"` + ui + `":{"a":1}}`, `{"` + ui + `":{"a":1}}`, nil},
		{"no address", `{"ui":{"visibility":["app"]}}`, `{}`, "", nil},
		{"hidden", `{"ui":{"resourceUri":"ui://x"}}`, `{}`, "", func(s *toolset.Source) { s.Project.DisabledTools = models.StringList{"a__t"} }},
		{"tools are not listed", `{"ui":{"resourceUri":"ui://x"}}`, `{}`, "", func(s *toolset.Source) { s.Project.ToolExposure = models.ExposeBuiltin }},
	} {
		src := source(tc.declared)
		src.Tools["a"][0].Definition = `{"name":"t","inputSchema":{"type":"object"},"_meta":` + tc.meta + `}`
		if tc.edit != nil {
			tc.edit(&src)
		}
		if got := extensions.Of(gatewaytest.Build(src), extensions.Supported{}); string(got) != tc.want {
			t.Errorf("%s: got %s, want %s", tc.name, got, tc.want)
		}
	}
}

func TestAdvertisedIsBounded(t *testing.T) {
	for n, want := range map[int]int{63: 63, 64: 64, 65: 64} {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(`"v/%02d":{}`, i))
		}
		got := extensions.Of(gatewaytest.Build(source(`{`+strings.Join(all, ",")+`}`)), extensions.Supported{})
		if names := strings.Count(string(got), "v/"); names != want {
			t.Errorf("%d extensions: %d are advertised", n, names)
		}
	}
	for n, fits := range map[int]bool{255: true, 256: true, 257: false} {
		got := extensions.Of(gatewaytest.Build(source(`{"`+strings.Repeat("x", n)+`":{}}`)), extensions.Supported{})
		if (got != nil) != fits {
			t.Errorf("name of %d bytes: %v", n, got != nil)
		}
	}
	for n, fits := range map[int]bool{4095: true, 4096: true, 4097: false} {
		got := extensions.Of(gatewaytest.Build(source(`{"v/x":{"a":"`+strings.Repeat("x", n-len(`{"a":""}`))+`"}}`)), extensions.Supported{})
		if (got != nil) != fits {
			t.Errorf("settings of %d bytes: %v", n, got != nil)
		}
	}
}
