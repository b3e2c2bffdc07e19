package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/gateway"
	"mcpgateway/services/gateway/gatewaytest"
	"mcpgateway/services/secrets"
	"mcpgateway/services/toolset"
)

type listed struct {
	Tools      []struct{ Name string }
	NextCursor *string
	ResultType *string
	TTLMS      *int `json:"ttlMs"`
	CacheScope *string
}

func list(t *testing.T, g *gateway.Gateway, s *toolset.Snapshot, from *gateway.Client, params string) (listed, error) {
	t.Helper()
	var raw []byte
	if params != "" {
		raw = []byte(params)
	}
	b, err := g.Handle(t.Context(), s, from, "tools/list", raw, nil)
	if err != nil {
		return listed{}, err
	}
	var l listed
	if err := json.Unmarshal(b, &l); err != nil {
		t.Fatalf("%v: %s", err, b)
	}
	return l, nil
}

func cursor(token string) string { return fmt.Sprintf(`{"cursor":%q}`, token) }

// withoutBuiltins returns the tools of a last page without the built-in ones,
// which must be at the end.
func withoutBuiltins(t *testing.T, tools []struct{ Name string }) []struct{ Name string } {
	t.Helper()
	n := len(tools) - 2
	if n < 0 || tools[n].Name != gateway.ToolSearch || tools[n+1].Name != gateway.ToolExecute {
		t.Fatalf("built-in tools are not at the end: %v", tools)
	}
	return tools[:n]
}

// many returns a source with n tools.
func many(n int) toolset.Source {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("t%05d", i)
	}
	return gatewaytest.Source(names...)
}

func TestListPages(t *testing.T) {
	g := newGateway(t, nil)
	for n, pages := range map[int]int{0: 1, 1: 1, toolset.MaxPageTools - 1: 1, toolset.MaxPageTools: 1, toolset.MaxPageTools + 1: 2} {
		s := gatewaytest.Build(many(n))
		for _, version := range []string{v2503, v2026} {
			seen, params := 0, ""
			for page := 1; ; page++ {
				l, err := list(t, g, s, client(version), params)
				if err != nil {
					t.Fatal(err)
				}
				tools := l.Tools
				if l.NextCursor == nil {
					tools = withoutBuiltins(t, tools)
				}
				for _, tool := range tools {
					if want := fmt.Sprintf("up__t%05d", seen); tool.Name != want {
						t.Fatalf("tool %d = %s, want %s", seen, tool.Name, want)
					}
					seen++
				}
				if l.NextCursor == nil {
					if page != pages || seen != n {
						t.Errorf("%d tools: got %d pages with %d tools, want %d pages", n, page, seen, pages)
					}
					break
				}
				params = cursor(*l.NextCursor)
			}
		}
	}
}

// firstRead is a server whose tools are read while a list waits.
type firstRead struct{ lists int }

func (f *firstRead) AwaitFirstReads(context.Context, *toolset.Snapshot) bool {
	f.lists++
	return f.lists == 1
}

func TestListHasTheToolsThatItWaitedFor(t *testing.T) {
	read := gatewaytest.Build(many(toolset.MaxPageTools + 1))
	first := &firstRead{}
	g := gateway.New(gateway.Options{Views: &account{view: read}, FirstReads: first, Tokens: keyRing(t), Version: "test", Log: slog.New(slog.DiscardHandler)})
	l, err := list(t, g, gatewaytest.Build(many(0)), client(v2511), "")
	if err != nil || len(l.Tools) != toolset.MaxPageTools || l.NextCursor == nil {
		t.Fatalf("%d tools, %v", len(l.Tools), err)
	}
	if _, err := list(t, g, read, client(v2511), cursor(*l.NextCursor)); err != nil || first.lists != 1 {
		t.Errorf("second page: %v, waited for %d times", err, first.lists)
	}
}

func TestCursorBoundToList(t *testing.T) {
	g, src := newGateway(t, nil), many(toolset.MaxPageTools+1)
	s := gatewaytest.Build(src)
	first, err := list(t, g, s, client(v2511), `{"cursor":null}`)
	if err != nil || first.NextCursor == nil {
		t.Fatalf("no second page: %v", err)
	}
	token := *first.NextCursor
	if second, err := list(t, g, gatewaytest.Build(src), client(v2511), cursor(token)); err != nil || len(withoutBuiltins(t, second.Tools)) != 1 { // same list on another replica
		t.Fatalf("got %d tools, %v", len(second.Tools), err)
	}
	changed := many(toolset.MaxPageTools + 1)
	changed.Tools["u"][3].Definition = strings.Replace(changed.Tools["u"][3].Definition, "{}", `{"a":1}`, 1)
	changed.Tools["u"] = changed.Tools["u"][1:]
	foreign := many(toolset.MaxPageTools + 1)
	foreign.Project.ID = "q"
	redescribed := many(toolset.MaxPageTools + 1)
	redescribed.Tools["u"][0].Definition = `{"name":"t00000","title":"new","inputSchema":{"type":"object"}}`
	otherKeys, err := secrets.ParseKeyRing("test:ZGVmYWJjZGVmMDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY=")
	if err != nil {
		t.Fatal(err)
	}
	plain, err := keyRing(t).OpenToken("tools/list cursor", token)
	if err != nil {
		t.Fatal(err)
	}
	ofToolset := keyRing(t).SealToken("tools/list cursor", []byte(strings.Replace(string(plain), `{"p":"p"`, `{"p":"p","t":"x"`, 1)))
	forged := keyRing(t).SealToken("mcp session", []byte(`{"p":"p","n":1}`))
	for name, tc := range map[string]struct {
		s     *toolset.Snapshot
		token string
	}{
		"another project":      {gatewaytest.Build(foreign), token},
		"another endpoint":     {s, ofToolset},
		"a shorter list":       {gatewaytest.Build(changed), token},
		"a changed definition": {gatewaytest.Build(redescribed), token},
		"garbage":              {s, "x"},
		"empty":                {s, ""},
		"added character":      {s, token + "A"},
		"missing character":    {s, token[:len(token)-1]},
		"changed character":    {s, token[:20] + string(token[20]^1) + token[21:]},
		"other purpose":        {s, forged},
		"other keys":           {s, otherKeys.SealToken("tools/list cursor", []byte(`{"p":"p","l":"","n":1}`))},
		"a missing page":       {gatewaytest.Build(many(3)), keyRing(t).SealToken("tools/list cursor", []byte(`{"p":"p","l":"","n":1}`))},
		"a negative page":      {gatewaytest.Build(many(3)), keyRing(t).SealToken("tools/list cursor", []byte(`{"p":"p","l":"","n":-1}`))},
		"invalid JSON":         {s, keyRing(t).SealToken("tools/list cursor", []byte(`x`))},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := list(t, g, tc.s, client(v2511), cursor(tc.token))
			if f := wantFault(t, err, fault.CodeInvalidCursor); !f.Restart || f.Kind != fault.KindInvalid {
				t.Errorf("got %+v", f)
			}
		})
	}
	for _, params := range []string{`{"cursor":7}`, `{"cursor":{}}`, `{"cursor":true}`} {
		_, err := list(t, g, s, client(v2511), params)
		wantFault(t, err, fault.CodeInvalidParameter)
	}
}

func TestModifiedCursorRejected(t *testing.T) {
	g, s := newGateway(t, nil), gatewaytest.Build(many(toolset.MaxPageTools+1))
	first, err := list(t, g, s, client(v2511), "")
	if err != nil {
		t.Fatal(err)
	}
	token := *first.NextCursor
	for i := range token {
		for _, c := range "Aa0_-" {
			if byte(c) == token[i] {
				continue
			}
			if _, err := list(t, g, s, client(v2511), cursor(token[:i]+string(c)+token[i+1:])); !fault.Is(err, fault.CodeInvalidCursor) {
				t.Fatalf("character %d as %q: %v", i, c, err)
			}
		}
	}
}

func TestCursorBoundToEra(t *testing.T) {
	src := many(toolset.MaxPageTools + 1)
	src.Tools["u"][0].Definition = `{"name":"t00000","outputSchema":{"type":"array"}}`
	g, s := newGateway(t, nil), gatewaytest.Build(src)
	first, err := list(t, g, s, client(v2511), "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := list(t, g, s, client(v2503), cursor(*first.NextCursor)); err != nil {
		t.Errorf("another revision with the same list: %v", err)
	}
	_, err = list(t, g, s, client(v2026), cursor(*first.NextCursor))
	wantFault(t, err, fault.CodeInvalidCursor)
}

func TestBuiltinExposure(t *testing.T) {
	src := gatewaytest.Source("echo")
	src.Project.ToolExposure = models.ExposeBuiltin
	g := newGateway(t, nil)
	l, err := list(t, g, gatewaytest.Build(src), client(v2511), "")
	if err != nil || len(withoutBuiltins(t, l.Tools)) != 0 {
		t.Errorf("got %v, %v", l, err)
	}
}

func TestCacheHints(t *testing.T) {
	healthy := gatewaytest.Source("echo")
	failing := gatewaytest.Source("echo")
	failing.Inventories["u"].ErrorCode = "UPSTREAM_TIMEOUT"
	unsynced := gatewaytest.Source("echo")
	unsynced.Inventories = nil
	off := gatewaytest.Source("echo")
	off.Inventories = nil
	off.Servers[0].Enabled = false
	for name, tc := range map[string]struct {
		src toolset.Source
		ttl int
	}{"healthy": {healthy, 30_000}, "failing": {failing, 0}, "never synced": {unsynced, 0}, "disabled": {off, 30_000}} {
		g, s := newGateway(t, nil), gatewaytest.Build(tc.src)
		l, err := list(t, g, s, client(v2026), "")
		if err != nil || l.TTLMS == nil || *l.TTLMS != tc.ttl || l.CacheScope == nil || *l.CacheScope != "private" || l.ResultType == nil || *l.ResultType != "complete" {
			t.Errorf("%s: got %+v, %v", name, l, err)
		}
		if l, err := list(t, g, s, client(v2511), ""); err != nil || l.TTLMS != nil || l.CacheScope != nil || l.ResultType != nil {
			t.Errorf("%s, for a handshake client: got %+v, %v", name, l, err)
		}
	}
}
