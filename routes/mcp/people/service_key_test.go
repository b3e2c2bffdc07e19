package people_test

import (
	"encoding/json"
	"strings"
	"testing"

	"mcpgateway/routes/routestest"
)

// TestServiceKeyAtPersonalServer uses a key without a person. The tools of the
// server are hidden, its prompts and resources don't exist, and nothing reaches
// it.
func TestServiceKeyAtPersonalServer(t *testing.T) {
	t.Parallel()
	w, e := oneServer(t)
	key, endpoint := w.serviceKey(t)
	e.ForgetRequests()
	for version, code := range map[string]int{handshake: -32003, stateless: -32602} {
		c := (&routestest.Client{Endpoint: endpoint, Token: key, Version: version, Capabilities: opensURLs}).Open(t)
		m := send(t, c, [2]string{"tools/call", `{"name":"echo__whoami","arguments":{}}`})
		if got := errorOf(t, m); got.Code != code || got.Data.Code != "PERSON_REQUIRED" || !strings.Contains(got.Message, "echo acts for people: use a personal key, or an app that signs in") {
			t.Errorf("%s: call: %s", version, m.Error)
		}
		for _, r := range needing()[1:] {
			if r[0] == "resources/subscribe" && version == stateless {
				continue
			}
			m := send(t, c, r)
			all := string(m.Result) + string(m.Error)
			if r[0] == "tools/call" {
				if !strings.Contains(all, "PERSON_REQUIRED") {
					t.Errorf("%s: %v: %s", version, r, all)
				}
				continue
			}
			never := send(t, c, [2]string{r[0], strings.NewReplacer("echo__", "ecko__", "echo://", "ecko://").Replace(r[1])})
			if got, want := anonymous(m), strings.NewReplacer("ecko__", "echo__", "ecko://", "echo://").Replace(anonymous(never)); m.Error == nil || got != want {
				t.Errorf("%s: %v: got %s, one that never existed %s", version, r, got, want)
			}
		}
		list := send(t, c, [2]string{"tools/list", `{}`})
		if s := string(list.Result); strings.Contains(s, "echo__") || !strings.Contains(s, "SERVER_NEEDS_PERSON") || strings.Contains(s, "/me/connections/") {
			t.Errorf("%s: list %s", version, s)
		}
		for _, r := range [][2]string{{"prompts/list", `{}`}, {"resources/list", `{}`}, {"resources/templates/list", `{}`}} {
			if s := string(send(t, c, r).Result); strings.Contains(s, "echo") {
				t.Errorf("%s: %s: %s", version, r[0], s)
			}
		}
		for _, call := range []string{
			`"gateway_searchMcpForTask","arguments":{"task":"who the request came from"}`, `"gateway_searchMcpForTask","arguments":{"query":"whoami"}`,
			`"gateway_listTools","arguments":{}`, `"gateway_listTools","arguments":{"filter":"whoami"}`,
			`"gateway_executeTool","arguments":{"code":"return [typeof echo, await gateway.search({task: 'who the request came from'})]"}`,
		} {
			m := send(t, c, [2]string{"tools/call", `{"name":` + call + `}`})
			if s := string(m.Result); m.Result == nil || strings.Contains(s, "TOOL_HIDDEN") || strings.Contains(s, "whoami\\\"") || strings.Contains(s, "whoami(") || strings.Contains(s, "came from.") {
				t.Errorf("%s: %s: %s%s", version, call, m.Result, m.Error)
			}
		}
		m = send(t, c, [2]string{"tools/call", `{"name":"gateway_executeTool","arguments":{"code":"return typeof echo"}}`})
		if got := string(m.Result); !strings.Contains(got, "undefined") {
			t.Errorf("%s: the namespace of hidden tools: %s%s", version, m.Result, m.Error)
		}
	}
	wantNothingSent(t, e)
}

// anonymous returns an error without its request's id.
func anonymous(m routestest.Message) string {
	var e map[string]any
	if json.Unmarshal(m.Error, &e) != nil {
		return string(m.Result)
	}
	if data, ok := e["data"].(map[string]any); ok {
		delete(data, "requestId")
	}
	raw, _ := json.Marshal(e)
	return string(raw)
}
