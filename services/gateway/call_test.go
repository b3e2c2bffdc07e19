package gateway_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/gateway"
	"mcpgateway/services/gateway/gatewaytest"
	"mcpgateway/services/upstream"
)

func TestCallParamsForwarded(t *testing.T) {
	for _, tc := range []struct{ name, params, want string }{
		{"plain", call, `{"name":"echo","arguments":{}}`},
		{"numbers, order and white space", `{ "arguments" : {"b":1e400,"a":9007199254740993 , "a2":1.0},  "name":"up__echo" }`, `{ "arguments" : {"b":1e400,"a":9007199254740993 , "a2":1.0},  "name":"echo" }`},
		{"no arguments", `{"name":"up__echo"}`, `{"name":"echo"}`},
		// MCP allows only an object, and servers reject null.
		{"null arguments", `{"name":"up__echo","arguments":null}`, `{"name":"echo"}`},
		{"null meta", `{"_meta":null,"name":"up__echo","arguments":{"a":null}}`, `{"name":"echo","arguments":{"a":null}}`},
		{"escaped name", `{"name":"up\u005f_echo"}`, `{"name":"echo"}`},
		{"other members", `{"name":"up__echo","requestState":"s","inputResponses":{"q":{}},"Name":"x"}`, `{"name":"echo","requestState":"s","inputResponses":{"q":{}},"Name":"x"}`},
		{"task metadata", `{"name":"up__echo","task":{"ttl":60000},"arguments":{"task":{"ttl":1}}}`, `{"name":"echo","arguments":{"task":{"ttl":1}}}`},
		{"escaped task metadata", `{"t\u0061sk":{},"name":"up__echo"}`, `{"name":"echo"}`},
		{"progress token alone", `{"name":"up__echo","_meta":{"progressToken":"t"}}`, `{"name":"echo"}`},
		{"progress token among others", `{"name":"up__echo","_meta":{"progressToken":7,"traceparent":"00-x"}}`, `{"name":"echo","_meta":{"traceparent":"00-x"}}`},
		{"other meta", `{"name":"up__echo","_meta":{"a": 1}}`, `{"name":"echo","_meta":{"a": 1}}`},
		{"empty meta", `{"name":"up__echo","_meta":{}}`, `{"name":"echo"}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := &caller{response: &upstream.Response{Result: []byte(`{"content":[]}`)}}
			if _, err := handle(t, c, client(v2511), "tools/call", tc.params); err != nil {
				t.Fatal(err)
			}
			if c.request.Method != "tools/call" || string(c.request.RawParams()) != tc.want || c.target.ServerID != "u" {
				t.Errorf("sent %s to %+v, want %s", c.request.RawParams(), c.target, tc.want)
			}
		})
	}
}

func TestRejectedCalls(t *testing.T) {
	for _, tc := range []struct {
		params string
		code   fault.Code
	}{
		{"", fault.CodeInvalidParameter},
		{`{}`, fault.CodeInvalidParameter},
		{`{"name":7}`, fault.CodeInvalidParameter},
		{`{"name":null}`, fault.CodeInvalidParameter},
		{`{"Name":"up__echo"}`, fault.CodeInvalidParameter},
		{`{"name":"up__echo","arguments":[]}`, fault.CodeInvalidParameter},
		{`{"name":"up__echo","arguments":"{}"}`, fault.CodeInvalidParameter},
		{`{"name":"up__echo","name":"up__other"}`, fault.CodeInvalidParameter},
		{`[]`, fault.CodeInvalidParameter},
		{`null`, fault.CodeInvalidParameter},
		{`{"name":""}`, fault.CodeToolNotFound},
		{`{"name":"echo"}`, fault.CodeToolNotFound},
		{`{"name":"up__Echo"}`, fault.CodeToolNotFound},
		{`{"name":"UP__echo"}`, fault.CodeToolNotFound},
		{`{"name":"up__echo "}`, fault.CodeToolNotFound},
	} {
		t.Run(tc.params, func(t *testing.T) {
			c := &caller{}
			_, err := handle(t, c, client(v2511), "tools/call", tc.params)
			wantFault(t, err, tc.code)
			if c.request != nil {
				t.Errorf("sent %s", c.request.RawParams())
			}
		})
	}
}

func TestHiddenToolsRejected(t *testing.T) {
	src := gatewaytest.Source("on", "off", "del_x", "changed")
	src.Project.DisabledTools = models.StringList{"up__off"}
	src.Servers[0].DenyTools = models.StringList{"del_*"}
	src.Servers[0].DefinitionPolicy = models.PolicyApprove
	for i := range src.Tools["u"][:3] {
		src.Tools["u"][i].DefinitionHash, src.Tools["u"][i].ApprovedHash = "h", "h"
	}
	src.Tools["u"][3].DefinitionHash, src.Tools["u"][3].ApprovedHash = "new", "old"
	for name, ok := range map[string]bool{"up__on": true, "up__off": false, "up__del_x": false, "up__changed": false} {
		c := &caller{response: &upstream.Response{Result: []byte(`{}`)}}
		_, err := newGateway(t, c).Handle(t.Context(), gatewaytest.Build(src), client(v2511), "tools/call", []byte(`{"name":"`+name+`"}`), nil)
		if ok {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if f := wantFault(t, err, fault.CodeToolDisabled); f.Kind != fault.KindDisabled || c.request != nil {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

func TestShortenedToolNames(t *testing.T) {
	long := strings.Repeat("t", 60)
	src := gatewaytest.Source(long)
	src.Project.ToolNameLimit = 32
	s := gatewaytest.Build(src)
	listed := s.Tools[0].Name
	if len(listed) != 32 {
		t.Fatalf("listed name %s has %d characters, want 32", listed, len(listed))
	}
	for _, name := range []string{listed, "up__" + long} {
		c := &caller{response: &upstream.Response{Result: []byte(`{}`)}}
		if _, err := newGateway(t, c).Handle(t.Context(), s, client(v2511), "tools/call", []byte(`{"name":"`+name+`"}`), nil); err != nil {
			t.Fatal(err)
		}
		if string(c.request.RawParams()) != `{"name":"`+long+`"}` {
			t.Errorf("%s sent %s", name, c.request.RawParams())
		}
	}
}

func TestCallReturnsUpstreamFault(t *testing.T) {
	for _, err := range []error{
		fault.Upstream(fault.CodeUpstreamTimeout, "slow"), fault.Upstream(fault.CodeUpstreamUnauthorized, "who"), context.Canceled, errors.New("x"),
	} {
		if _, got := handle(t, &caller{err: err}, client(v2511), "tools/call", call); !errors.Is(got, err) {
			t.Errorf("got %v, want %v", got, err)
		}
	}
}

func TestTraceToolAndServer(t *testing.T) {
	g, s := newGateway(t, &caller{response: &upstream.Response{Result: []byte(`{}`)}}), gatewaytest.Build(gatewaytest.Source("echo"))
	var trace gateway.RequestInfo
	if _, err := g.Handle(t.Context(), s, client(v2511), "tools/call", []byte(call), &trace); err != nil || trace.Tool != "up__echo" || trace.Server != "up" {
		t.Errorf("traced %+v, %v", trace, err)
	}
	for n, want := range map[int]int{127: 127, 128: 128, 129: 129} { // at most 128 characters and an ellipsis
		trace = gateway.RequestInfo{}
		_, err := g.Handle(t.Context(), s, client(v2511), "tools/call", []byte(`{"name":"`+strings.Repeat("é", n)+`"}`), &trace)
		wantFault(t, err, fault.CodeToolNotFound)
		if got := []rune(trace.Tool); len(got) != want || trace.Server != "" || (n > 128) != (got[len(got)-1] == '…') {
			t.Errorf("a name of %d characters is traced with %d", n, len(got))
		}
	}
}

func TestCallParamHeaders(t *testing.T) {
	src := gatewaytest.Source(`{"name":"routed","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}}`)
	c := &caller{response: &upstream.Response{Result: []byte(`{}`), Stateless: true}}
	s := gatewaytest.Build(src)
	if _, err := newGateway(t, c).Handle(t.Context(), s, client(v2511), "tools/call", []byte(`{"name":"up__routed","arguments":{"region":"eu"}}`), nil); err != nil {
		t.Fatal(err)
	}
	if len(c.request.ParamHeaders) == 0 {
		t.Error("the call has no ParamHeaders")
	}
}

// TestCallRepeatable checks that tool annotations decide whether a call may be
// sent again.
func TestCallRepeatable(t *testing.T) {
	for annotations, want := range map[string]bool{
		``:                                      false,
		`,"annotations":{}`:                     false,
		`,"annotations":{"readOnlyHint":false}`: false,
		`,"annotations":{"readOnlyHint":true}`:  true,
		`,"annotations":{"idempotentHint":true,"destructiveHint":true}`: true,
		`,"annotations":{"readOnlyHint":"true"}`:                        false,
	} {
		c := &caller{response: &upstream.Response{Result: []byte(`{"content":[]}`)}}
		snapshot := gatewaytest.Build(gatewaytest.Source(`{"name":"t","inputSchema":{"type":"object"}` + annotations + `}`))
		if _, err := newGateway(t, c).Handle(t.Context(), snapshot, client(v2511), "tools/call", []byte(`{"name":"up__t"}`), nil); err != nil {
			t.Fatal(err)
		}
		if c.request.Repeatable != want {
			t.Errorf("annotations %q: Repeatable = %t, want %t", annotations, c.request.Repeatable, want)
		}
	}
}
