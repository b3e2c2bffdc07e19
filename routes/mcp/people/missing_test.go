package people_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"mcpgateway/routes/routestest"
	"mcpgateway/services/upstream/upstreamtest"
)

// needing are requests that need the person's account, by what they do. The
// first three may require input.
func needing() [][2]string {
	return [][2]string{
		{"tools/call", `{"name":"echo__whoami","arguments":{}}`},
		{"prompts/get", `{"name":"echo__who"}`},
		{"resources/read", `{"uri":"echo://who"}`},
		{"tools/call", `{"name":"gateway_executeTool","arguments":{"name":"echo__whoami","arguments":{}}}`},
		{"completion/complete", `{"ref":{"type":"ref/prompt","name":"echo__who"},"argument":{"name":"for","value":""}}`},
		{"resources/subscribe", `{"uri":"echo://who"}`},
	}
}

// rpcError is a JSON-RPC error for a missing connection.
type rpcError struct {
	Code    int
	Message string
	Data    struct {
		Code, URL, RequestID string
		Restart              *bool
		Elicitations         []struct{ Mode, ElicitationID, URL, Message string }
	}
}

func send(t *testing.T, c *routestest.Client, r [2]string) routestest.Message {
	t.Helper()
	m, err := c.Send(t.Context(), r[0], r[1])
	if err != nil {
		t.Fatalf("%s %s: %v", r[0], r[1], err)
	}
	return m
}

func errorOf(t *testing.T, m routestest.Message) (e rpcError) {
	t.Helper()
	if json.Unmarshal(m.Error, &e) != nil {
		t.Fatalf("got %d %s%s, want an error", m.Status, m.Result, m.Body)
	}
	return e
}

// wantLink checks that a link is a ticket for a person and the server echo, and
// returns the id of its elicitation.
func (w *world) wantLink(t *testing.T, link, name string) (elicitation string) {
	t.Helper()
	u, err := url.Parse(link)
	if err != nil || !strings.HasPrefix(link, "http://127.0.0.1:8080/me/connections/"+w.ids["echo"]+"?t=") {
		t.Fatalf("link %q, %v", link, err)
	}
	ticket, err := w.Services.Tickets.Open(u.Query().Get("t"))
	if err != nil || ticket.UserID != w.people[name] || ticket.ServerID != w.ids["echo"] {
		t.Fatalf("ticket %+v, %v", ticket, err)
	}
	return ticket.ElicitationID
}

// wantComplete checks that a client's list has every tool, and whether its
// coverage contains the link of the person.
func (w *world) wantComplete(t *testing.T, c *routestest.Client, name string, connected bool) {
	t.Helper()
	for _, r := range [][2]string{{"tools/list", `{}`}, {"prompts/list", `{}`}, {"resources/list", `{}`}} {
		m := send(t, c, r)
		var list struct {
			Tools, Prompts, Resources []json.RawMessage
			Meta                      struct {
				Coverage struct {
					Warnings []struct{ Code, Message string }
				} `json:"gateway/coverage"`
			} `json:"_meta"`
		}
		if json.Unmarshal(m.Result, &list) != nil || r[0] == "tools/list" && strings.Count(string(m.Result), `"name":"echo__`) != 4 || len(list.Tools)+len(list.Prompts)+len(list.Resources) == 0 {
			t.Fatalf("%s: got %s%s", r[0], m.Result, m.Error)
		}
		if r[0] != "tools/list" {
			continue
		}
		warnings := list.Meta.Coverage.Warnings
		if connected {
			if len(warnings) > 0 {
				t.Errorf("%s: warnings %v of a connected person", r[0], warnings)
			}
			continue
		}
		if len(warnings) != 1 || warnings[0].Code != "SERVER_NEEDS_CONNECTION" {
			t.Fatalf("%s: coverage %v in %s", r[0], warnings, m.Result)
		}
		_, link, _ := strings.Cut(warnings[0].Message, "Connect it at ")
		w.wantLink(t, strings.TrimSuffix(link, "."), name)
	}
}

// wantNothingSent checks that the server received nothing but the end of
// sessions.
func wantNothingSent(t *testing.T, e *upstreamtest.EchoServer) {
	t.Helper()
	for _, r := range e.Requests() {
		if r.HTTPMethod != http.MethodDelete {
			t.Errorf("the server received %s %s", r.HTTPMethod, r.Body)
		}
	}
}

// TestURLErrorWithoutConnection sends requests of every method with a client of
// 2025-11-25 that opens URLs, before and after its person connected.
func TestURLErrorWithoutConnection(t *testing.T) {
	t.Parallel()
	w, e := oneServer(t)
	c := w.client(t, "ann", handshake, opensURLs)
	heard := c.Listen(t, "")
	given := map[string]bool{}
	for _, r := range needing() {
		m := send(t, c, r)
		got := errorOf(t, m)
		if got.Code != -32042 || got.Data.Code != "CONNECTION_REQUIRED" || got.Data.Restart == nil || *got.Data.Restart || got.Data.RequestID == "" || len(got.Data.Elicitations) != 1 {
			t.Fatalf("%v: got %s", r, m.Error)
		}
		asked := got.Data.Elicitations[0]
		if asked.Mode != "url" || asked.Message == "" || w.wantLink(t, asked.URL, "ann") != asked.ElicitationID || given[asked.ElicitationID] {
			t.Errorf("%v: elicitation %+v", r, asked)
		}
		given[asked.ElicitationID] = true
	}
	w.wantComplete(t, c, "ann", false)
	wantNothingSent(t, e)
	w.connect(t, "ann")
	for range given {
		select {
		case m := <-heard:
			var p struct{ ElicitationID string }
			if err := json.Unmarshal(m.Params, &p); err != nil || m.Method != "notifications/elicitation/complete" || !given[p.ElicitationID] {
				t.Fatalf("heard %s %s, want one of %v", m.Method, m.Params, given)
			}
			delete(given, p.ElicitationID)
		case <-t.Context().Done():
			t.Fatal("no completion")
		}
	}
	for _, r := range needing() {
		if m := send(t, c, r); m.Result == nil || strings.Contains(string(m.Result), `"isError":true`) {
			t.Errorf("%v after connecting: %s%s", r, m.Result, m.Error)
		}
	}
	w.wantComplete(t, c, "ann", true)
}

// TestLinkWithoutConnection sends requests with clients that open no URLs and of
// other revisions. They get a failed tool result, a ToolError in code, or an error.
func TestLinkWithoutConnection(t *testing.T) {
	t.Parallel()
	w, e := oneServer(t)
	for _, c := range []struct{ version, capabilities string }{
		{handshake, `{"elicitation":{"form":{}}}`}, {handshake, `{}`}, {"2025-06-18", opensURLs}, {"2025-03-26", opensURLs}, {stateless, `{}`}, {stateless, `{"elicitation":{}}`},
	} {
		client := w.client(t, "ann", c.version, c.capabilities)
		for _, r := range needing() {
			if r[0] == "resources/subscribe" && c.version == stateless {
				continue // it is part of subscriptions/listen
			}
			m := send(t, client, r)
			if r[0] == "tools/call" {
				w.wantFailedResult(t, m, "ann")
				continue
			}
			got := errorOf(t, m)
			if got.Code != -32603 || got.Data.Code != "CONNECTION_REQUIRED" {
				t.Errorf("%s, %v: got %s", c.version, r, m.Error)
			}
			w.wantLink(t, got.Data.URL, "ann")
		}
		w.wantComplete(t, client, "ann", false)
	}
	for _, version := range []string{handshake, stateless} { // in code, always
		m := send(t, w.client(t, "ann", version, opensURLs), [2]string{"tools/call", `{"name":"gateway_executeTool","arguments":{"code":"try { await echo.whoami({}); return 'sent' } catch (e) { return e.name + ' ' + e.code + ' ' + e.message }"}}`})
		if got := textOf(m); !strings.Contains(got, "ToolError") || !strings.Contains(got, "echo needs your account. Open http://127.0.0.1:8080/me/connections/") {
			t.Errorf("code at %s: %s%s", version, m.Result, m.Error)
		}
	}
	wantNothingSent(t, e)
}

// wantFailedResult checks the result of a tool for a person who must connect.
func (w *world) wantFailedResult(t *testing.T, m routestest.Message, name string) {
	t.Helper()
	var got struct {
		IsError bool
		Meta    struct {
			Error struct{ Code, Server, URL string } `json:"gateway/error"`
		} `json:"_meta"`
	}
	if err := json.Unmarshal(m.Result, &got); err != nil || !got.IsError || got.Meta.Error.Code != "CONNECTION_REQUIRED" || got.Meta.Error.Server != "echo" {
		t.Fatalf("got %s%s", m.Result, m.Error)
	}
	if text := textOf(m); text != "echo needs your account. Open "+got.Meta.Error.URL+", connect and try again." {
		t.Errorf("text %q", text)
	}
	w.wantLink(t, got.Meta.Error.URL, name)
}

// inputParams returns the params of a request that continues another one.
func inputParams(r [2]string, state, action string) string {
	return strings.TrimSuffix(r[1], "}") + `,"requestState":` + state + `,"inputResponses":{"connect":{"action":"` + action + `"}}}`
}

// TestInputRequiredWithoutConnection sends requests with stateless clients that
// open URLs. The continued request waits for the connection.
func TestInputRequiredWithoutConnection(t *testing.T) {
	t.Parallel()
	w, e := oneServer(t)
	c := w.client(t, "ann", stateless, opensURLs)
	ben := w.client(t, "ben", stateless, opensURLs)
	other := w.client(t, "ann", stateless, opensURLs) // another key of the same person
	toolset := &routestest.Client{Endpoint: w.base + "/v1/mcp/p/toolsets/all/request", Token: c.Token, Version: stateless, Capabilities: opensURLs}
	toolset.Open(t)
	w.Apply(t, `{"projects":{"p":{"toolsets":{"all":{"include":["*"],"offersOf":["*"]}}}}}`)
	var states []string
	for _, r := range needing()[:4] {
		m := send(t, c, r)
		name, state := inputOf(m)
		if name != "connect" || !strings.Contains(string(m.Result), `"method":"elicitation/create"`) || !strings.Contains(string(m.Result), `"mode":"url"`) {
			t.Fatalf("%v: got %s%s", r, m.Result, m.Error)
		}
		w.wantLink(t, linkIn(m), "ann")
		states = append(states, state)
		for what, sent := range map[string]routestest.Message{
			"another person":   send(t, ben, [2]string{r[0], inputParams(r, state, "accept")}),
			"another key":      send(t, other, [2]string{r[0], inputParams(r, state, "accept")}),
			"another endpoint": send(t, toolset, [2]string{r[0], inputParams(r, state, "accept")}),
			"another request":  send(t, c, [2]string{"tools/call", inputParams([2]string{"", `{"name":"echo__whoami","arguments":{"for":"x"}}`}, state, "accept")}),
		} {
			if !strings.Contains(string(sent.Result)+string(sent.Error), "requestState belongs to another call") {
				t.Errorf("%v by %s: got %s%s", r, what, sent.Result, sent.Error)
			}
		}
		for _, action := range []string{"decline", "cancel"} {
			m := send(t, c, [2]string{r[0], inputParams(r, state, action)})
			if r[0] == "tools/call" {
				w.wantFailedResult(t, m, "ann")
			} else if got := errorOf(t, m); got.Code != -32603 || got.Data.Code != "CONNECTION_REQUIRED" || w.wantLink(t, got.Data.URL, "ann") != "" {
				t.Errorf("%v, %s: %s", r, action, m.Error)
			}
		}
	}
	// What is not among the three methods gets an error.
	m := send(t, c, needing()[4])
	if got := errorOf(t, m); got.Code != -32603 || got.Data.Code != "CONNECTION_REQUIRED" {
		t.Errorf("completion: %s", m.Error)
	}
	w.wantComplete(t, c, "ann", false)
	wantNothingSent(t, e)
	done := make(chan routestest.Message)
	for i, r := range needing()[:4] {
		go func() {
			m, _ := c.Send(context.WithoutCancel(t.Context()), r[0], inputParams(r, states[i], "accept")) // an empty message fails below
			done <- m
		}()
	}
	w.connect(t, "ann")
	for range states {
		m := <-done
		if at, err := reached(m); err != nil || at.Person != "ann" {
			t.Errorf("after connecting: %+v, %v", at, err)
		}
	}
	w.wantComplete(t, c, "ann", true)
}

// linkIn returns the URL in an input_required result.
func linkIn(m routestest.Message) string {
	var result struct {
		InputRequests struct {
			Connect struct{ Params struct{ URL string } }
		}
	}
	_ = json.Unmarshal(m.Result, &result) // an empty link fails the test
	return result.InputRequests.Connect.Params.URL
}
