package gateway_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/gateway"
	"mcpgateway/services/gateway/gatewaytest"
	"mcpgateway/services/toolset"
)

func TestInitializeNegotiatesVersion(t *testing.T) {
	for offered, want := range map[string]string{
		v2024: v2024, v2503: v2503, v2506: v2506, v2511: v2511, v2026: v2511, "2027-01-01": v2511, "1999-01-01": v2511, "": v2511, "latest": v2511,
	} {
		params := fmt.Sprintf(`{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"c","version":"1"}}`, offered)
		got, err := handle(t, &caller{}, client(v2503), "initialize", params)
		if want := `{"protocolVersion":"` + want + `","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"p","version":"test"}}`; err != nil || got != want {
			t.Errorf("%q: got %s, %v", offered, got, err)
		}
		if got := gateway.NegotiatedVersion([]byte(params)); got != want {
			t.Errorf("NegotiatedVersion(%q) = %s, want %s", params, got, want)
		}
	}
	for _, params := range []string{"", `{}`, `{"protocolVersion":7}`, `{"protocolVersion":null}`, `[]`} {
		_, err := handle(t, &caller{}, client(v2503), "initialize", params)
		wantFault(t, err, fault.CodeInvalidParameter)
		if got := gateway.NegotiatedVersion([]byte(params)); got != v2511 {
			t.Errorf("NegotiatedVersion(%q) = %s, want %s", params, got, v2511)
		}
	}
}

func TestMethodsByEra(t *testing.T) {
	for _, tc := range []struct {
		method               string
		handshake, stateless bool
	}{
		{"initialize", true, false}, {"ping", true, false}, {"server/discover", false, true}, {"tools/list", true, true}, {"tools/call", true, true},
		{"resources/list", true, true}, {"prompts/list", true, true}, {"resources/subscribe", false, false}, {"Tools/list", false, false}, {"", false, false}, {strings.Repeat("x", 10_000), false, false},
	} {
		for _, version := range gateway.Versions() {
			served := tc.handshake
			if version == v2026 {
				served = tc.stateless
			}
			_, err := handle(t, &caller{err: fault.NotFound("upstream", "x")}, client(version), tc.method, `{"name":"up__echo","protocolVersion":"x"}`)
			f := fault.From(err)
			if unknown := err != nil && f.Kind == fault.KindUnknownMethod; unknown == served {
				t.Errorf("%.20s of %s: %v", tc.method, version, err)
			}
			if len(f.Message) > 300 {
				t.Errorf("message of %d bytes, want at most 300", len(f.Message))
			}
		}
	}
}

func TestPing(t *testing.T) {
	if got, err := handle(t, &caller{}, client(v2511), "ping", ""); err != nil || got != "{}" {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestVersionsOrder(t *testing.T) {
	if d := cmp.Diff([]string{v2024, v2503, v2506, v2511, v2026}, gateway.Versions()); d != "" {
		t.Errorf("versions (-want +got):\n%s", d)
	}
	for _, version := range gateway.Versions() {
		if got := client(version).Stateless(); got != (version == v2026) {
			t.Errorf("%s: Stateless() = %v", version, got)
		}
	}
}

func TestDiscover(t *testing.T) {
	got, err := handle(t, &caller{}, client(v2026), "server/discover", `{"_meta":{}}`)
	want := `{"resultType":"complete","supportedVersions":["2024-11-05","2025-03-26","2025-06-18","2025-11-25","2026-07-28"],"capabilities":{"tools":{"listChanged":true}},` +
		`"ttlMs":30000,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"p","version":"test"}}}`
	if err != nil || got != want {
		t.Errorf("got %s, %v\nwant %s", got, err, want)
	}
}

// instructed returns a project whose servers have the given instructions, by
// alias.
func instructed(instructions map[string]string) toolset.Source {
	src := toolset.Source{Project: models.Project{ID: "p"}, Inventories: map[string]*models.Inventory{}}
	for alias, text := range instructions {
		src.Servers = append(src.Servers, models.Server{ID: alias, Alias: alias, Enabled: true})
		src.Inventories[alias] = &models.Inventory{ServerID: alias, Instructions: text}
	}
	return src
}

func instructionsOf(t *testing.T, src toolset.Source) string {
	t.Helper()
	g, s := newGateway(t, nil), gatewaytest.Build(src)
	var got [2]struct{ Instructions string }
	for i, tt := range []struct{ version, method, params string }{{v2511, "initialize", `{"protocolVersion":"2025-11-25"}`}, {v2026, "server/discover", `{}`}} {
		b, err := g.Handle(t.Context(), s, client(tt.version), tt.method, []byte(tt.params), nil)
		if err == nil {
			err = json.Unmarshal(b, &got[i])
		}
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(b), `"instructions":""`) {
			t.Error("empty instructions are not omitted")
		}
	}
	if got[0] != got[1] {
		t.Errorf("the eras have different instructions: %q and %q", got[0], got[1])
	}
	return got[0].Instructions
}

func TestInstructionsMerged(t *testing.T) {
	src := instructed(map[string]string{"b": "say \"b\"", "a": "say a\n", "silent": "", "off": "no"})
	for i := range src.Servers {
		src.Servers[i].Enabled = src.Servers[i].Alias != "off"
	}
	if got, want := instructionsOf(t, src), "## a\n\nsay a\n\n\n## b\n\nsay \"b\"\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := instructionsOf(t, instructed(nil)); got != "" {
		t.Errorf("without servers: got %q", got)
	}
}

func TestSubscribeCapability(t *testing.T) {
	for capabilities, want := range map[string]string{
		`{"resources":{"subscribe":true}}`:  `"resources":{"listChanged":true,"subscribe":true}`,
		`{"resources":{"subscribe":false}}`: `"resources":{"listChanged":true}`,
		`{"resources":{}}`:                  `"resources":{"listChanged":true}`,
	} {
		src := gatewaytest.Source("tool")
		src.Inventories["u"].Capabilities = capabilities
		g := newGateway(t, &caller{})
		for _, tc := range []struct{ version, method, params string }{
			{v2511, "initialize", `{"protocolVersion":"2025-11-25"}`}, {v2026, "server/discover", `{}`},
		} {
			got, err := g.Handle(t.Context(), gatewaytest.Build(src), client(tc.version), tc.method, []byte(tc.params), nil)
			if err != nil || !strings.Contains(string(got), want) {
				t.Errorf("%s: %s, %v", capabilities, got, err)
			}
		}
	}
}
