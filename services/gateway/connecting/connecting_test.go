package connecting_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"testing"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/gateway/connecting"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/secrets"
	"mcpgateway/services/upstream"
)

// accounts are connected or missing, all of them.
type accounts struct{ connected bool }

func (n *accounts) Pending(context.Context, *models.Server, string) upstream.Pending {
	if n.connected {
		return upstream.Pending{}
	}
	return upstream.Pending{Code: upstream.WarningNeedsConnection}
}

// Link returns a link without a ticket.
func (n *accounts) Link(userID, serverID, _ string) string {
	return "https://g.example/" + serverID + userID
}

func ring(t *testing.T, seed byte) *secrets.KeyRing {
	t.Helper()
	key := make([]byte, 32)
	key[0] = seed
	r, err := secrets.ParseKeyRing("k:" + base64.StdEncoding.EncodeToString(key))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// callWith returns the call of ann with raw params.
func callWith(t *testing.T, params string) *connecting.Call {
	t.Helper()
	o, err := rawjson.ParseObject([]byte(params), rawjson.Strict)
	if err != nil {
		t.Fatal(err)
	}
	return &connecting.Call{
		Server: &models.Server{ID: "s", Alias: "echo"}, UserID: "ann", ProjectID: "p", Caller: "key:1@p", Method: "tools/call",
		Params: o, Stateless: true, Capabilities: []byte(`{"elicitation":{"url":{}}}`),
	}
}

// stateOf returns the raw request state of an input_required result.
func stateOf(t *testing.T, r connecting.Response) string {
	t.Helper()
	var result struct{ RequestState json.RawMessage }
	if err := json.Unmarshal(r.Result, &result); err != nil || result.RequestState == nil {
		t.Fatalf("got %s, %v", r.Result, err)
	}
	return string(result.RequestState)
}

// TestStateExpires continues a call for 15 minutes, also when its params are in
// another order, and not after that.
func TestStateExpires(t *testing.T) {
	t.Parallel()
	clock := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	now := func() time.Time { return clock }
	all := &accounts{connected: true}
	p := connecting.New(all, all, ring(t, 1), now)
	begun := clock
	state := stateOf(t, p.Prompt(callWith(t, `{"name":"whoami","arguments":{"a":1,"b":2}}`)))
	for _, tt := range []struct {
		after   time.Duration
		expired bool
	}{{0, false}, {15*time.Minute - time.Second, false}, {15 * time.Minute, true}, {15*time.Minute + time.Second, true}} {
		clock = begun.Add(tt.after)
		c := callWith(t, `{"arguments":{"b":2,"a":1},"name":"whoami","requestState":`+state+`,"inputResponses":{"connect":{"action":"accept"}},"_meta":{"x":1}}`)
		declined, err := p.Continue(t.Context(), c)
		if declined || fault.Is(err, fault.CodeInvalidParameter) != tt.expired || !tt.expired && (err != nil || c.Params.Get("requestState") != nil || c.Params.Get("inputResponses") != nil) {
			t.Errorf("after %s: %t, %v, %s", tt.after, declined, err, c.Params.Bytes())
		}
	}
}

// TestStateOfAnotherCall changes each part to which a state is bound. States that
// are not ours are left to the server.
func TestStateOfAnotherCall(t *testing.T) {
	t.Parallel()
	all := &accounts{connected: true}
	p := connecting.New(all, all, ring(t, 1), time.Now)
	const first = `{"name":"whoami","arguments":{"n":1}}`
	state := stateOf(t, p.Prompt(callWith(t, first)))
	with := func(members string) string {
		return `{"requestState":` + state + `,"inputResponses":{"connect":{"action":"accept"}},` + members[1:]
	}
	for what, change := range map[string]func(*connecting.Call){
		"project": func(c *connecting.Call) { c.ProjectID = "q" }, "endpoint or principal": func(c *connecting.Call) { c.Caller = "key:1@p/t" },
		"server": func(c *connecting.Call) { c.Server = &models.Server{ID: "other", Alias: "echo"} }, "method": func(c *connecting.Call) { c.Method = "prompts/get" },
		"arguments": func(c *connecting.Call) { c.Params = callWith(t, with(`{"name":"whoami","arguments":{"n":2}}`)).Params },
		"large arguments": func(c *connecting.Call) {
			c.Params = callWith(t, with(`{"name":"whoami","arguments":{"n":1.0000000000000000001}}`)).Params
		},
		"name": func(c *connecting.Call) { c.Params = callWith(t, with(`{"name":"erase","arguments":{"n":1}}`)).Params },
	} {
		c := callWith(t, with(first))
		change(c)
		if _, err := p.Continue(t.Context(), c); !fault.Is(err, fault.CodeInvalidParameter) {
			t.Errorf("another %s: %v", what, err)
		}
	}
	forged := connecting.New(all, all, ring(t, 2), time.Now)
	c := callWith(t, with(first))
	if declined, err := forged.Continue(t.Context(), c); declined || err != nil || c.Params.Get("requestState") == nil {
		t.Errorf("a state sealed with another key: %t, %v, %s", declined, err, c.Params.Bytes())
	}
}

// TestWait waits for a change, and ends with the request.
func TestWait(t *testing.T) {
	t.Parallel()
	all := &accounts{}
	p := connecting.New(all, all, ring(t, 1), time.Now)
	server := &models.Server{ID: "s"}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if usable, err := p.Wait(ctx, server, "ann"); usable || err == nil {
		t.Errorf("a cancelled wait: %t, %v", usable, err)
	}
	all.connected = true
	p.Changed("s", "ann")
	if usable, err := p.Wait(t.Context(), server, "ann"); !usable || err != nil {
		t.Errorf("connected: %t, %v", usable, err)
	}
}
