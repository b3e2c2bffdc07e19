package gateway_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"mcpgateway/services/fault"
	"mcpgateway/services/gateway"
	"mcpgateway/services/upstream"
)

const call = `{"name":"up__echo","arguments":{}}`

const ours = `"io.modelcontextprotocol/serverInfo":{"name":"p","version":"test"}`

func TestResultBridging(t *testing.T) {
	for _, tc := range []struct {
		name      string
		clients   []string
		stateless bool // the upstream
		result    string
		want      string
	}{
		// Within an era (upstream 25 to client 25, 26 to 26): unchanged bytes.
		{"25 to 25", []string{v2024, v2503, v2506, v2511}, false, "{ \"content\" : [ {\"type\":\"hologram\"} ],\n\"x\":1e400 , \"x\":2}", ""},
		{"25 to 25, structured object", []string{v2503, v2511}, false, `{"content":[],"structuredContent": {"n":9007199254740993} }`, ""},
		{"25 to 25, structuredContent in text", []string{v2503}, false, `{"content":[{"type":"text","text":"\"structuredContent\":"}]}`, ""},
		{"25 to 25, resultType as an unknown member", []string{v2511}, false, `{"content":[],"resultType":"input_required"}`, ""},
		{"26 to 26", []string{v2026}, true, `{ "resultType":"complete","content":[{"type":"hologram"}],"structuredContent":[ 1 ] }`, ""},
		{"26 to 26, input_required", []string{v2026}, true, `{"resultType":"input_required","inputRequests":{"q":{}},"requestState":"s"}`, ""},
		{"26 to 26, extension result", []string{v2026}, true, `{"resultType":"other","taskId":"1"}`, ""},
		{"26 to 26, without resultType", []string{v2026}, true, `{"content":[]}`, ""},

		// 25 to 25: only null members are removed.
		{"array", []string{v2503, v2511}, false, `{"content":[{"type":"text","text":"a"}],"structuredContent":[ 1,2 ]}`, ""},
		{"null", []string{v2511}, false, `{"content":[],"structuredContent":null}`, `{"content":[]}`},

		// 26 to 25: the members of 2026-07-28 go, and unknown content becomes text.
		{"26 to 25", []string{v2024, v2511}, true, `{"resultType":"complete","content":[{"type":"text","text":"a"}],"_meta":{"x":1},"ttlMs":1,"cacheScope":"public"}`, `{"content":[{"type":"text","text":"a"}],"_meta":{"x":1}}`},
		{"26 to 25, known content", []string{v2511}, true, `{"content":[{"type":"text"},{"type":"image"},{"type":"audio"},{"type":"resource"},{"type":"resource_link"}]}`, ""},
		{"26 to 25, unknown content", []string{v2511}, true, `{"content":[{"type":"text","text":"a"}, {"type":"hologram"} ,7,{"type":7}]}`,
			`{"content":[{"type":"text","text":"a"},{"type":"text","text":"{\"type\":\"hologram\"}"},{"type":"text","text":"7"},{"type":"text","text":"{\"type\":7}"}]}`},
		{"26 to 25, structured array", []string{v2503}, true, `{"resultType":"complete","content":[],"structuredContent":[1]}`, `{"content":[{"type":"text","text":"[1]"}],"structuredContent":{"result":[1]}}`},
		{"26 to 25, structured object", []string{v2503}, true, `{"content":[],"structuredContent":{"a":1}}`, ""},
		{"26 to 25, isError", []string{v2511}, true, `{"content":[{"type":"text","text":"no"}],"isError":true}`, ""},

		// 25 to 26: the members that 2026-07-28 requires are added.
		{"25 to 26", []string{v2026}, false, `{"content":[ {"type":"x"} ]}`, `{"content":[ {"type":"x"} ],"resultType":"complete","_meta":{` + ours + `}}`},
		{"25 to 26, own meta", []string{v2026}, false, `{"_meta":{"a":1},"content":[]}`, `{"_meta":{"a":1,` + ours + `},"content":[],"resultType":"complete"}`},
		{"25 to 26, own serverInfo", []string{v2026}, false, `{"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"up"}},"content":[]}`, `{"_meta":{` + ours + `},"content":[],"resultType":"complete"}`},
		{"25 to 26, meta of another type", []string{v2026}, false, `{"_meta":7,"content":[]}`, `{"_meta":7,"content":[],"resultType":"complete"}`},
		// Null members are removed, because clients reject them.
		{"25 to 26, nulls", []string{v2026}, false, `{"_meta":null,"content":[],"structuredContent":null}`, `{"content":[],"resultType":"complete","_meta":{` + ours + `}}`},
		{"25 to 25, nulls", []string{v2024, v2511}, false, `{"_meta":null,"content":[],"x":null}`, `{"content":[],"x":null}`},
		{"25 to 25, both nulls", []string{v2511}, false, `{"structuredContent":null,"_meta":null,"content":[]}`, `{"content":[]}`},
		{"26 to 25, nulls", []string{v2511}, true, `{"content":[],"_meta":null,"structuredContent":null}`, `{"content":[]}`},
		{"26 to 26, null meta", []string{v2026}, true, `{"resultType":"complete","_meta":null,"content":[],"structuredContent":null}`, `{"resultType":"complete","content":[],"structuredContent":null}`},
		{"25 to 26, own resultType", []string{v2026}, false, `{"resultType":"complete","content":[]}`, `{"resultType":"complete","content":[],"_meta":{` + ours + `}}`},
		{"25 to 26, structured array", []string{v2026}, false, `{"content":[],"structuredContent":[1]}`, `{"content":[],"structuredContent":[1],"resultType":"complete","_meta":{` + ours + `}}`},
		{"25 to 26, empty", []string{v2026}, false, `{}`, `{"resultType":"complete","_meta":{` + ours + `}}`},
	} {
		for _, version := range tc.clients {
			t.Run(tc.name+" "+version, func(t *testing.T) {
				want := tc.want
				if want == "" {
					want = tc.result
				}
				got, err := handle(t, &caller{response: &upstream.Response{Result: []byte(tc.result), Stateless: tc.stateless}}, client(version), "tools/call", call)
				if err != nil || got != want {
					t.Errorf("got %s, %v\nwant %s", got, err, want)
				}
			})
		}
	}
}

func TestUnbridgeableResults(t *testing.T) {
	for _, tc := range []struct {
		name, client string
		stateless    bool
		result       string
	}{
		{"input_required", v2511, true, `{"resultType":"input_required","inputRequests":{}}`},
		{"input_required to the oldest", v2024, true, `{"resultType":"input_required","content":[]}`},
		{"extension result", v2503, true, `{"resultType":"task"}`},
		{"a resultType of another type", v2503, true, `{"resultType":null}`},
		{"an array", v2503, false, `[]`},
		{"an array between equals", v2026, true, `[]`},
		{"a string", v2026, false, `"x"`},
		{"null", v2511, true, `null`},
		{"nothing", v2511, false, ``},
		{"invalid JSON", v2026, false, `{"content":`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := handle(t, &caller{response: &upstream.Response{Result: []byte(tc.result), Stateless: tc.stateless}}, client(tc.client), "tools/call", call)
			if f := wantFault(t, err, fault.CodeUpstreamInvalidResponse); f.Kind != fault.KindUpstream || got != "" {
				t.Errorf("got %s with %+v", got, f)
			}
		})
	}
}

func TestErrorBridging(t *testing.T) {
	for _, tc := range []struct {
		name, raw string
		clients   []string
		err       string // empty: the same bytes, when result is empty too
		result    string
	}{
		{"any other", `{ "code": -32099, "message":"m" , "data":{"n":9007199254740993}}`, []string{v2024, v2511, v2026}, "", ""},
		{"code of another type", `{"code":"x"}`, []string{v2024, v2026}, "", ""},
		{"no code", `{"message":"x"}`, []string{v2026}, "", ""},
		{"method not found", `{"code":-32601,"message":"m"}`, []string{v2511, v2026}, "", ""},
		{"resource not found", `{"code":-32002,"message":"m","data":{"uri":"x"}}`, []string{v2024, v2503, v2506, v2511}, "", ""},
		{"resource not found to 2026", `{"code": -32002 ,"message":"m","data":{"uri":"x"}}`, []string{v2026}, `{"code": -32602 ,"message":"m","data":{"uri":"x"}}`, ""},
	} {
		for _, version := range tc.clients {
			for _, stateless := range []bool{false, true} {
				t.Run(tc.name+" "+version, func(t *testing.T) {
					got, err := handle(t, &caller{response: &upstream.Response{Error: []byte(tc.raw), Stateless: stateless}}, client(version), "tools/call", call)
					if tc.result != "" {
						if err != nil || got != tc.result {
							t.Errorf("got %s, %v\nwant %s", got, err, tc.result)
						}
						return
					}
					want := tc.err
					if want == "" {
						want = tc.raw
					}
					var rpc *gateway.RPCError
					if !errors.As(err, &rpc) || string(rpc.Raw) != want || rpc.Error() != want || got != "" {
						t.Errorf("got %s, %v\nwant %s", got, err, want)
					}
				})
			}
		}
	}
	for _, raw := range []string{`[]`, `"x"`, `null`, `{`} {
		_, err := handle(t, &caller{response: &upstream.Response{Error: []byte(raw)}}, client(v2511), "tools/call", call)
		wantFault(t, err, fault.CodeUpstreamInvalidResponse)
	}
}

func TestCallsDeclareCapabilities(t *testing.T) {
	const all = "{\"elicitation\":{\"form\":{}},\n\"sampling\":{ },\"roots\":{\"listChanged\":true},\"experimental\":{\"x\":1},\"extensions\":{\"com.example/x\":{\"a\": 1}}}"
	for _, tc := range []struct {
		version  string
		stream   bool // of a handshake client
		declared string
		want     string
	}{
		{v2026, false, all, all},
		{v2511, true, all, all},
		{v2511, false, all, `{"experimental":{"x":1},"extensions":{"com.example/x":{"a": 1}}}`},
		{v2026, false, `{"tasks":{},"roots":{}}`, `{"roots":{}}`},
		{v2511, true, `{"tasks":{"list":{}},"elicitation":{}}`, `{"elicitation":{}}`},
		{v2511, false, `{"elicitation":{}}`, `{}`},
		{v2026, false, `{}`, `{}`},
		{v2026, false, ``, ""},
		{v2026, false, `{"elicitation":`, ""},
	} {
		t.Run(tc.version+" "+tc.declared, func(t *testing.T) {
			c := &caller{response: &upstream.Response{Result: []byte(`{}`)}}
			from := client(tc.version)
			from.SessionID = "session"
			if tc.stream {
				from.Ask = func(context.Context, string, []byte) (result, rpcError []byte, err error) {
					return []byte(`{}`), nil, nil
				}
			}
			if tc.declared != "" {
				from.Capabilities = []byte(tc.declared)
			}
			if _, err := handle(t, c, from, "tools/call", call); err != nil {
				t.Fatal(err)
			}
			got := c.request.Client
			if string(got.Capabilities) != tc.want || (tc.want == "") != (got.Capabilities == nil) || got.SessionID != "session" {
				t.Errorf("declared %s of session %q, want %s", got.Capabilities, got.SessionID, tc.want)
			}
			if asks := strings.Contains(tc.want, "elicitation") || strings.Contains(tc.want, "roots"); asks != (c.request.Serve != nil) {
				t.Errorf("requests of the server are served: %v, want %v", !asks, asks)
			}
		})
	}
}
