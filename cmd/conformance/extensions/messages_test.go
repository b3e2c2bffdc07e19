//go:build conformance

package extensions

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

const logMessage = "notifications/message"

// TestLogsReachTheirCaller calls a tool that logs on the session's own stream, as
// servers do that don't tie a message to a call, by three clients in turn: at first,
// after a restart of the server and after one of the gateway. Each log message comes
// long enough after the call of the client before.
func TestLogsReachTheirCaller(t *testing.T) {
	t.Parallel()
	server := startUpstream(t, "logs.mjs")
	g := open(t, map[string]string{"logs": server.url})
	var clients []*client
	for range 3 {
		c := connect(t, sdk1, settings{URL: g.url()})
		c.request(t, "logging/setLevel", object{"level": "info"}, nil)
		clients = append(clients, c)
	}
	round := func(when string) {
		for i, c := range clients {
			text := fmt.Sprintf("client %d %s", i, when)
			eventually(t, text, func() error { // the server may still be starting
				o := c.try(t, "callTool", object{"params": object{"name": "logs__log", "arguments": object{"text": text, "wait": 400}}})
				if o.err != nil {
					return o.err
				}
				return nil
			})
			c.await(t, logMessage, text, 1)
		}
		for i, c := range clients {
			want(t, fmt.Sprintf("logs of client %d %s", i, when), c.count(logMessage, when), 1)
		}
	}
	round("at first")
	server.restart(t)
	round("after a restart of the server")
	g.restart(t)
	g.awaitTools(t, "")
	round("after a restart of the gateway")
}

// TestLogsOfOthersStayHidden calls the tool by two clients at once. On a shared session, a
// message that could be the other's must not arrive; one on the stream of a call must.
func TestLogsOfOthersStayHidden(t *testing.T) {
	t.Parallel()
	g := open(t, map[string]string{"logs": startUpstream(t, "logs.mjs").url})
	names := []string{"Ada", "Grace"}
	clients := map[string]*client{}
	for _, name := range names {
		clients[name] = connect(t, sdk1, settings{URL: g.url()})
		clients[name].request(t, "logging/setLevel", object{"level": "info"}, nil)
	}
	both := func(own bool, text string) {
		for _, name := range names {
			arguments := object{"text": text + " of " + name, "own": own, "wait": 1000}
			clients[name].begin(t, "callTool", object{"params": object{"name": "logs__log", "arguments": arguments}})
		}
		for _, name := range names {
			if o := clients[name].outcome(t); o.err != nil {
				t.Error(o.err)
			}
		}
	}
	both(false, "secret")
	both(true, "text")
	for i, name := range names {
		other := names[1-i]
		clients[name].await(t, logMessage, "text of "+name, 1)
		want(t, name+" sees the other's", clients[name].count(logMessage, "of "+other), 0)
	}
}

// TestURLsReachEveryClient calls a tool that needs the user to open a URL.
func TestURLsReachEveryClient(t *testing.T) {
	t.Parallel()
	g := open(t, map[string]string{"urls": startUpstream(t, "urls.mjs").url})
	capabilities := object{"elicitation": object{"form": object{}, "url": object{}}}
	accept := map[string]object{"elicitation/create": {"action": "accept"}}
	address := func(errand string) string { return "https://example.com/agree/" + errand }
	params := func(errand string) object {
		return object{"name": "urls__agree", "arguments": object{"errand": errand}}
	}

	t.Run("SDK 1.x gets the error", func(t *testing.T) {
		c := connect(t, sdk1, settings{URL: g.url(), Capabilities: capabilities, Answers: accept})
		fault := c.fault(t, "tools/call", params("first"))
		want(t, "code", fmt.Sprint(fault.Code), "-32042")
		var data struct {
			Elicitations []struct{ ElicitationID, URL string }
		}
		decode(t, fault.Data, &data)
		if len(data.Elicitations) != 1 || data.Elicitations[0].URL != address("first") {
			t.Fatalf("data %s", fault.Data)
		}
		c.await(t, "notifications/elicitation/complete", data.Elicitations[0].ElicitationID, 1)
		want(t, "second call", c.callTool(t, "urls__agree", object{"errand": "first"}), "agreed on first")
	})
	t.Run("SDK 2.x is asked", func(t *testing.T) {
		c := connect(t, sdk2, settings{URL: g.url(), Capabilities: capabilities, Answers: accept})
		want(t, "revision", c.opened.ProtocolVersion, "2026-07-28")
		want(t, "call", c.callTool(t, "urls__agree", object{"errand": "second"}), "agreed on second")
		want(t, "questions", c.count("elicitation/create", address("second")), 1)
	})
	t.Run("SDK 2.x without URLs gets a text", func(t *testing.T) {
		c := connect(t, sdk2, settings{URL: g.url(), Capabilities: object{"elicitation": object{"form": object{}}}, Answers: accept})
		var result toolResult
		c.do(t, "callTool", object{"params": params("third")}, &result)
		expectAddress(t, &result, address("third"))
	})
	for errand, revision := range map[string]string{"fourth": "2025-06-18", "fifth": ""} {
		t.Run("revision "+revision, func(t *testing.T) {
			var result toolResult
			decode(t, post(t, g.url(), revision, "tools/call", params(errand)), &result)
			expectAddress(t, &result, address(errand))
		})
	}
}

func expectAddress(t *testing.T, result *toolResult, address string) {
	t.Helper()
	if !result.IsError || len(result.Content) != 1 || !strings.Contains(result.Content[0].Text, address) {
		t.Errorf("got %+v, want an error with %s", *result, address)
	}
}

// post sends a request as curl would and returns the result. With a revision it
// initializes a session first.
func post(t *testing.T, url, revision, method string, params object) json.RawMessage {
	t.Helper()
	session := ""
	if revision != "" {
		opening := object{"protocolVersion": revision, "capabilities": object{}, "clientInfo": object{"name": "curl", "version": "1"}}
		var header http.Header
		_, header = exchange(t, url, http.Header{}, object{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": opening})
		session = header.Get("Mcp-Session-Id")
	}
	header := http.Header{}
	if session != "" {
		header.Set("Mcp-Session-Id", session)
		header.Set("Mcp-Protocol-Version", revision)
	}
	raw, _ := exchange(t, url, header, object{"jsonrpc": "2.0", "id": 2, "method": method, "params": params})
	var answer struct{ Result, Error json.RawMessage }
	decode(t, raw, &answer)
	if answer.Result == nil {
		t.Fatalf("%s: %s", method, raw)
	}
	return answer.Result
}

// exchange posts a message and returns the JSON response with its header.
func exchange(t *testing.T, url string, header http.Header, body object) (json.RawMessage, http.Header) {
	t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(string(raw)))
	if err != nil {
		t.Fatal(err)
	}
	request.Header = header
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	transport := &http.Transport{DisableKeepAlives: true}
	response, err := transport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return content, response.Header
}
