package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mcpgateway/models"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/upstream/upstreamtest"
	"mcpgateway/web/webtest"
)

// post sends a body to an endpoint with a key.
func (w *parity) post(t *testing.T, key, path, body string, header map[string]string) webtest.Response {
	t.Helper()
	all := map[string]string{"Authorization": "Bearer " + key, "Accept": "application/json, text/event-stream"}
	for name, value := range header {
		all[name] = value
	}
	return webtest.Send(t, w.App.App, webtest.Case{Method: http.MethodPost, Path: path, Header: all, Body: body})
}

// TestKeyAtEachEndpoint uses keys of every scope at every endpoint. All refusals
// at an endpoint must have the same bytes.
func TestKeyAtEachEndpoint(t *testing.T) {
	w := newParity(t)
	writer := w.Toolset(t, "p", models.Toolset{Slug: "writer", Include: models.StringList{"docs__erase"}})
	key := func(bind ...string) string {
		id, text := w.Key(t, "p", 0)
		if bind != nil {
			w.Bind(t, "p", id, bind...)
		}
		return text
	}
	id, unbound := w.Key(t, "p", 0)
	w.Bind(t, "p", id)
	revoked, revokedText := w.Key(t, "p", 0)
	project, err := w.Services.Directory.Project("p")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Services.Keys.Revoke(t.Context(), project.Project.ID, revoked); err != nil {
		t.Fatal(err)
	}
	const p, reader, write = "/v1/mcp/p", "/v1/mcp/p/toolsets/reader", "/v1/mcp/p/toolsets/writer"
	refusals := map[string]string{}
	for _, tc := range []struct {
		name, key string
		tools     map[string]string // by endpoint; missing means 401
	}{
		{"whole project", key(), map[string]string{p: "docs__erase docs__find docs__read vault__open vault__seal", reader: "docs__find docs__read", write: "docs__erase"}},
		{"reader", key(w.reader), map[string]string{p: "docs__find docs__read", reader: "docs__find docs__read"}},
		{"writer", key(writer), map[string]string{p: "docs__erase", write: "docs__erase"}},
		{"both", key(w.reader, writer), map[string]string{p: "docs__erase docs__find docs__read", reader: "docs__find docs__read", write: "docs__erase"}},
		{"no toolset", unbound, map[string]string{}},
		{"revoked", revokedText, map[string]string{}},
		{"unknown", "gwk_x", map[string]string{}},
	} {
		for _, endpoint := range []string{p, reader, write} {
			for _, kind := range []string{"/request", "/sse?name=x"} {
				a := w.post(t, tc.key, endpoint+kind, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, nil)
				want, admitted := tc.tools[endpoint]
				switch {
				case !admitted:
					bytes := fmt.Sprint(a.Status, a.Header.Get("WWW-Authenticate"), variable.ReplaceAllString(a.Body, "$1"))
					if a.Status != http.StatusUnauthorized || refusals[endpoint+kind] != "" && refusals[endpoint+kind] != bytes {
						t.Errorf("%s at %s: %s", tc.name, endpoint+kind, bytes)
					}
					refusals[endpoint+kind] = bytes
				case kind == "/request":
					if got := toolNames(t, a.Body); got != want {
						t.Errorf("%s at %s: %s, want %s", tc.name, endpoint, got, want)
					}
				case a.Status == http.StatusUnauthorized:
					t.Errorf("%s at %s: 401", tc.name, endpoint+kind)
				}
			}
		}
	}
	if a := w.post(t, key(), "/v1/mcp/p/toolsets/other/request", `{}`, nil); a.Status != http.StatusNotFound {
		t.Errorf("unknown toolset: %d", a.Status)
	}
}

// TestBoundKeyListsPreview compares the tools of a bound key at both endpoints
// with the preview of the toolset's rules.
func TestBoundKeyListsPreview(t *testing.T) {
	w := newParity(t)
	id, key := w.Key(t, "p", 0)
	w.Bind(t, "p", id, w.reader)
	shown := webtest.Send(t, w.App.App, webtest.Case{
		Method: http.MethodPost, Path: "/api/projects/p/toolsets/preview", Body: `{"query":"server:docs","exclude":["*__erase"]}`, Header: header("Authorization", "Bearer "+routestest.AdminToken),
	})
	var preview struct{ Items []struct{ Name string } }
	if err := json.Unmarshal([]byte(shown.Body), &preview); err != nil || len(preview.Items) != 2 {
		t.Fatalf("%v: %s", err, shown.Body)
	}
	var names []string
	for _, item := range preview.Items {
		names = append(names, item.Name)
	}
	slices.Sort(names)
	for _, path := range []string{endpointOfP, endpointOfReader} {
		body := w.post(t, key, path+"/request", listTools, nil).Body
		if got, want := toolNames(t, body), strings.Join(names, " "); got != want || strings.Count(body, `{"name":"gateway_`) != 3 {
			t.Errorf("%s lists %s, want %s and 3 built-in tools", path, got, want)
		}
	}
}

// toolNames returns the sorted names of upstream tools in a tools/list.
func toolNames(t *testing.T, body string) string {
	t.Helper()
	var list struct {
		Result struct{ Tools []struct{ Name string } }
	}
	if err := json.Unmarshal([]byte(body), &list); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	var names []string
	for _, tool := range list.Result.Tools {
		if !strings.HasPrefix(tool.Name, "gateway_") {
			names = append(names, tool.Name)
		}
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// TestSessionsAndCursorsOfOneEndpoint uses the session and the cursor of one
// endpoint at another.
func TestSessionsAndCursorsOfOneEndpoint(t *testing.T) {
	w := newParity(t)
	_, whole := w.Key(t, "p", 0)
	const p, reader = "/v1/mcp/p/request", "/v1/mcp/p/toolsets/reader/request"
	hello := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
	search := func(tool, key, path, cursor string) string {
		if cursor != "" {
			cursor = `,"cursor":"` + cursor + `"`
		}
		return w.post(t, key, path, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+tool+`","arguments":{"query":"docs","limit":1`+cursor+`}}}`, nil).Body
	}
	next := regexp.MustCompile(`\\?"nextCursor\\?":\\?"([^"\\]+)`)
	tools := []string{"gateway_searchMcpForTask", "gateway_listTools"}
	for from, to := range map[string]string{p: reader, reader: p} {
		id := w.post(t, whole, from, hello, nil).Header.Get("Mcp-Session-Id")
		ping := func(path string) int {
			return w.post(t, whole, path, `{"jsonrpc":"2.0","id":2,"method":"ping"}`, map[string]string{"Mcp-Session-Id": id}).Status
		}
		if ping(from) != http.StatusOK || ping(to) != http.StatusNotFound {
			t.Errorf("session of %s: %d, at %s %d", from, ping(from), to, ping(to))
		}
		for _, tool := range tools {
			found := next.FindStringSubmatch(search(tool, whole, from, ""))
			if found == nil {
				t.Fatalf("%s returns no cursor", tool)
			}
			if own := search(tool, whole, from, found[1]); strings.Contains(own, `"error"`) || !strings.Contains(own, "nextCursor") {
				t.Errorf("%s: cursor of %s: %s", tool, from, own)
			}
			if other := search(tool, whole, to, found[1]); !strings.Contains(other, `"code":"INVALID_CURSOR"`) {
				t.Errorf("%s: cursor of %s at %s: %s", tool, from, to, other)
			}
		}
	}
	// A change of the view makes its cursors stale.
	id, bound := w.Key(t, "p", 0)
	writer := w.Toolset(t, "p", models.Toolset{Slug: "writer", Include: models.StringList{"docs__erase", "docs__find"}})
	for _, tool := range tools {
		w.Bind(t, "p", id, w.reader)
		cursor := next.FindStringSubmatch(search(tool, bound, p, ""))
		w.Bind(t, "p", id, writer)
		if stale := search(tool, bound, p, cursor[1]); !strings.Contains(stale, `"code":"CURSOR_STALE"`) {
			t.Errorf("%s: cursor after the change: %s", tool, stale)
		}
	}
}

// TestRightsWithdrawnDuringRun withdraws a grant between two calls of one run of
// code.
func TestRightsWithdrawnDuringRun(t *testing.T) {
	w := newParity(t)
	id, key := w.Key(t, "p", 0)
	w.Own(t, "p", id, w.person)
	grant := w.Grant(t, "p", models.ProjectGrant{SubjectKind: models.SubjectPerson, SubjectID: w.person, ToolsetID: w.reader, Role: models.GrantUse})
	w.shared.SetTools(upstreamtest.Tool{
		Definition: `{"name":"read","inputSchema":{"type":"object"}}`,
		Call: func(context.Context, *upstreamtest.Call) upstreamtest.Result {
			w.Withdraw(t, "p", grant)
			return upstreamtest.Text("once")
		},
	})
	w.Sync(t, "p", "docs")
	body := w.post(t, key, "/v1/mcp/p/request", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"gateway_executeTool","arguments":{"code":"const first = await docs.read({}); try { await docs.read({}); return 'twice' } catch (e) { return [first, e.message] }"}}}`, nil).Body
	if !strings.Contains(body, `"result":["once","Valid credentials are required."]`) {
		t.Error(body)
	}
	if again := w.post(t, key, "/v1/mcp/p/request", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, nil); again.Status != http.StatusUnauthorized {
		t.Errorf("after the run: %d", again.Status)
	}
}
