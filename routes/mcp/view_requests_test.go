package mcp_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"mcpgateway/web/webtest"
)

// foreignNames are names of p that are not in the view, and one that never
// existed.
func foreignNames() []string {
	return []string{"vault__open", "docs__erase", "off__open", "never__was"}
}

// unusualProbes returns requests by the SSE bridge, in batches, without an id,
// with a body of another type, and with headers that contradict the body.
func (w *parity) unusualProbes() []probe {
	const hello = `{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`
	var batch []string
	for i, p := range viewProbes() {
		if !strings.Contains(p[1], `"code"`) { // code runs in a batch as it does alone
			batch = append(batch, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, i, p[0], p[1]))
		}
	}
	probes := []probe{
		w.posted("batch", "/request", "["+strings.Join(batch, ",")+"]", "MCP-Protocol-Version", "2025-03-26"),
		w.posted("batch of a handshake", "/request", `[{"jsonrpc":"2.0","id":1,"method":"initialize","params":`+hello+`}]`),
		w.posted("bridge of another method", "/sse", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`),
	}
	for _, name := range append(foreignNames(), "docs__read", "gateway_listTools") {
		probes = append(probes, w.named(name)...)
	}
	return probes
}

// named returns the unusual requests for a tool.
func (w *parity) named(name string) []probe {
	call := func(id string) string {
		return `{"jsonrpc":"2.0",` + id + `"method":"tools/call","params":{"name":"` + name + `","arguments":{}}}`
	}
	probes := []probe{
		w.posted("call "+name, "/request", call(`"id":1,`)),
		w.posted("bridge "+name, "/sse", call(`"id":1,`)),
		w.posted("bridge executeTool "+name, "/sse", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"gateway_executeTool","arguments":{"name":"`+name+`"}}}`),
		w.sent("bridge GET "+name, http.MethodGet, "/sse?name="+name, ""),
		w.sent("bridge request "+name, http.MethodGet, "/sse?request="+url.QueryEscape(call(`"id":1,`)), ""),
		w.posted("plain text "+name, "/request", call(`"id":1,`), "Content-Type", "text/plain"),
		w.posted("plain text by the bridge "+name, "/sse", call(`"id":1,`), "Content-Type", "text/plain"),
		w.posted("notification "+name, "/request", call("")),
		w.posted("notified batch "+name, "/request", "["+call("")+","+call(`"id":2,`)+"]"),
		w.posted("cancelled "+name, "/request", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"`+name+`"}}`),
	}
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + name + `","arguments":{},` + statelessMeta + `}}`
	for _, other := range append(foreignNames(), "docs__read") {
		if other != name {
			probes = append(probes, w.posted("Mcp-Name "+other+" of "+name, "/request", body, "MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", other))
		}
	}
	return probes
}

// posted returns a probe that posts a body.
func (w *parity) posted(name, suffix, body string, headers ...string) probe {
	return w.sent(name, http.MethodPost, suffix, body, headers...)
}

func (w *parity) sent(name, method, suffix, body string, headers ...string) probe {
	return probe{name, func(t *testing.T, credential, path string) string {
		t.Helper()
		all := header(append([]string{"Authorization", "Bearer " + credential, "Accept", bothKinds}, headers...)...)
		a := webtest.Send(t, w.App.App, webtest.Case{Method: method, Path: path + suffix, Header: all, Body: body})
		return fmt.Sprint(a.Status, " ", variable.ReplaceAllString(a.Body, "$1"))
	}}
}

// TestForeignNamesNeverWere checks that names outside of the view get the
// responses to names that never existed.
func TestForeignNamesNeverWere(t *testing.T) {
	w := newParity(t)
	id, key := w.Key(t, "p", 0)
	w.Bind(t, "p", id, w.reader)
	for foreign, never := range map[string]string{"vault__open": "never__was", "docs__erase": "docs__never", "off__open": "never__was"} {
		from, to, _ := strings.Cut(foreign, "__")
		fromNever, toNever, _ := strings.Cut(never, "__")
		rename := strings.NewReplacer(from, fromNever, to, toNever)
		twins := w.named(never)
		for i, p := range w.named(foreign) {
			if strings.HasPrefix(p.name, "Mcp-Name") {
				continue // compared with a project without the tools
			}
			got, want := rename.Replace(p.send(t, key, endpointOfP)), twins[i].send(t, key, endpointOfP)
			if got != want {
				t.Errorf("%s: %s, want %s", p.name, got, want)
			}
		}
	}
	for _, r := range w.hidden.Requests() {
		if forClients(r) {
			t.Errorf("the hidden server received %s", r.Body)
		}
	}
}
