//go:build conformance

package driver

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcpgateway/services/rawjson"
	"mcpgateway/services/upstream/upstreamtest"
)

// visit runs a job with the server and returns the log.
func visit(t *testing.T, s *upstreamtest.Server, job Job) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	job.URL = s.Start(t)
	var log bytes.Buffer
	err := Run(ctx, job, &log)
	return log.String(), err
}

// tool returns a tool that records its calls.
func tool(definition string, calls *[]string) upstreamtest.Tool {
	return upstreamtest.Tool{Definition: definition, Call: func(_ context.Context, c *upstreamtest.Call) upstreamtest.Result {
		*calls = append(*calls, c.Name+" "+string(c.Arguments))
		return upstreamtest.Text("called")
	}}
}

func TestSampleArguments(t *testing.T) {
	for _, era := range upstreamtest.AllEras() {
		t.Run(string(era), func(t *testing.T) {
			var calls []string
			s := upstreamtest.New(upstreamtest.Options{Eras: []upstreamtest.Era{era}, Tools: []upstreamtest.Tool{
				tool(`{"name":"none","inputSchema":{"type":"object"}}`, &calls),
				tool(`{"name":"all","inputSchema":{"type":"object","properties":{
					"s":{"type":"string"},"i":{"type":"integer"},"n":{"type":"number"},"b":{"type":"boolean"},"a":{"type":"array"},"o":{"type":"object"},"z":{"type":"null"},
					"e":{"enum":[5,6]},"c":{"const":"k"},"r":{"$ref":"http://127.0.0.1:1/"},"d":{"type":"string","default":"given"},"left":{"type":"string"}},
					"required":["s","i","n","b","a","o","z","e","c","r"]}}`, &calls),
			}})
			if _, err := visit(t, s, Job{Scenario: "tools_call"}); err != nil {
				t.Fatal(err)
			}
			want := []string{"none {}", `all {"s":"sample","i":7,"n":7,"b":true,"a":[],"o":{},"z":null,"e":5,"c":"k","r":"sample","d":"given"}`}
			if diff := cmp.Diff(want, calls); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestContextCalls(t *testing.T) {
	var regions []string
	routed := upstreamtest.Routed()
	routed.Call = func(_ context.Context, c *upstreamtest.Call) upstreamtest.Result {
		regions = append(regions, c.Header.Get("Mcp-Param-Region"))
		return upstreamtest.Text("routed")
	}
	s := upstreamtest.New(upstreamtest.Options{Eras: []upstreamtest.Era{upstreamtest.Era20260728}, Tools: []upstreamtest.Tool{upstreamtest.Echo(), routed}})
	log, err := visit(t, s, Job{Scenario: "http-custom-headers", Context: []byte(
		`{"name":"http-custom-headers","toolCalls":[{"name":"routed","arguments":{"region":" padded "}},{"name":"routed","arguments":{"region":null}}]}`)})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"=?base64?IHBhZGRlZCA=?=", ""}, regions); diff != "" {
		t.Error(diff)
	}
	if strings.Contains(log, `"echo"`) {
		t.Errorf("called a tool that the context does not name:\n%s", log)
	}
}

func TestSchemaIsPreserved(t *testing.T) {
	const schema = `{"$schema":"x", "type":"object","$defs":{"a":{"$anchor":"b"}},"if":{},"then":{},"n":1.0}`
	var calls []string
	s := upstreamtest.New(upstreamtest.Options{Tools: []upstreamtest.Tool{
		tool(`{"name":"json_schema_2020_12_tool","inputSchema":`+schema+`}`, &calls),
		tool(`{"name":"json_schema_echo","inputSchema":{"type":"object"}}`, &calls),
	}})
	if _, err := visit(t, s, Job{Scenario: "json-schema-2020-12-preservation"}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{`json_schema_echo {"schema":` + schema + `}`}, calls); diff != "" {
		t.Error(diff)
	}
}

func TestServerRequests(t *testing.T) {
	for method, want := range map[string]string{
		"elicitation/create":     `{"action":"accept","content":{"name":"Ann","age":7}}`,
		"sampling/createMessage": `{"role":"assistant","content":{"type":"text","text":"Paris"},"model":"driver","stopReason":"endTurn"}`,
		"roots/list":             `{"roots":[{"uri":"file:///srv/driver","name":"driver"}]}`,
	} {
		t.Run(method, func(t *testing.T) {
			got := ""
			s := upstreamtest.New(upstreamtest.Options{Eras: []upstreamtest.Era{upstreamtest.Era20251125}, Tools: []upstreamtest.Tool{{
				Definition: `{"name":"ask","inputSchema":{"type":"object"}}`,
				Call: func(ctx context.Context, c *upstreamtest.Call) upstreamtest.Result {
					raw, err := c.Request(ctx, method, []byte(`{"requestedSchema":{"type":"object","properties":{
						"name":{"type":"string","default":"Ann"},"age":{"type":"integer"},"nick":{"type":"string"}},"required":["age"]}}`))
					if err != nil {
						return upstreamtest.Failure(err.Error())
					}
					var response struct{ Result json.RawMessage }
					if err := json.Unmarshal(raw, &response); err != nil {
						return upstreamtest.Failure(err.Error())
					}
					got = string(response.Result)
					return upstreamtest.Text("received")
				},
			}}})
			if _, err := visit(t, s, Job{}); err != nil {
				t.Fatal(err)
			}
			if got != want {
				t.Errorf("server received %s, want %s", got, want)
			}
		})
	}
}

// requiring returns a tool that requires input in its first calls, as many as
// rounds, and records the params of each call.
func requiring(first string, rounds int, seen *[]*rawjson.Object) upstreamtest.Tool {
	return upstreamtest.Tool{
		Definition: `{"name":"requiring","inputSchema":{"type":"object"}}`,
		Call: func(_ context.Context, c *upstreamtest.Call) upstreamtest.Result {
			params, err := rawjson.ParseObject(c.Params, rawjson.Lenient)
			if err != nil {
				return upstreamtest.Failure(err.Error())
			}
			*seen = append(*seen, params)
			if len(*seen) <= rounds {
				return upstreamtest.JSON(first)
			}
			return upstreamtest.Text("complete")
		},
	}
}

func TestRequiredInput(t *testing.T) {
	const question = `{"method":"elicitation/create","params":{"requestedSchema":{"type":"object","properties":{"ok":{"type":"boolean","default":true}}}}}`
	for _, c := range []struct{ name, first, responses, state string }{
		{"with state", `{"resultType":"input_required","inputRequests":{"q":` + question + `},"requestState":"a\u0062 {"}`,
			`{"q":{"action":"accept","content":{"ok":true}}}`, `"a\u0062 {"`},
		{"without state", `{"resultType":"input_required","inputRequests":{"q":` + question + `}}`, `{"q":{"action":"accept","content":{"ok":true}}}`, ""},
		{"only state", `{"resultType":"input_required","requestState":"s"}`, "", `"s"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var seen []*rawjson.Object
			s := upstreamtest.New(upstreamtest.Options{Eras: []upstreamtest.Era{upstreamtest.Era20260728}, Tools: []upstreamtest.Tool{requiring(c.first, 2, &seen)}})
			if _, err := visit(t, s, Job{}); err != nil {
				t.Fatal(err)
			}
			if len(seen) != 3 {
				t.Fatalf("%d calls, want 3", len(seen))
			}
			if seen[0].Get("inputResponses") != nil || seen[0].Get("requestState") != nil {
				t.Errorf("first call has params %s, want neither responses nor state", seen[0].Bytes())
			}
			for _, params := range seen[1:] {
				if got := string(params.Get("inputResponses")); got != c.responses {
					t.Errorf("inputResponses = %s, want %s", got, c.responses)
				}
				if got := string(params.Get("requestState")); got != c.state {
					t.Errorf("requestState = %s, want %s", got, c.state)
				}
			}
		})
	}
}

func TestInputRoundsAreLimited(t *testing.T) {
	for _, c := range []struct {
		rounds int
		fails  bool
	}{{7, false}, {8, true}, {9, true}} {
		var seen []*rawjson.Object
		s := upstreamtest.New(upstreamtest.Options{Eras: []upstreamtest.Era{upstreamtest.Era20260728}, Tools: []upstreamtest.Tool{
			requiring(`{"resultType":"input_required","requestState":"s"}`, c.rounds, &seen),
		}})
		if _, err := visit(t, s, Job{}); (err != nil) != c.fails {
			t.Errorf("Run() with %d rounds = %v, want failure %t", c.rounds, err, c.fails)
		}
	}
}

func TestResourcesAndPrompts(t *testing.T) {
	answer := func(raw string) upstreamtest.Handler {
		return func(context.Context, *upstreamtest.Call) upstreamtest.Result { return upstreamtest.JSON(raw) }
	}
	methods := map[string]upstreamtest.Handler{
		"resources/list": answer(`{"resources":[{"uri":"test://a"},{"uri":"test://b"}]}`),
		"resources/read": answer(`{"contents":[]}`),
		"prompts/list":   answer(`{"prompts":[{"name":"p"}]}`),
		"prompts/get":    answer(`{"messages":[]}`),
	}
	for capabilities, want := range map[string][]string{
		`{"tools":{}}`:                nil,
		`{"tools":{},"resources":{}}`: {`resources/read {"uri":"test://a"}`, `resources/read {"uri":"test://b"}`},
		`{"prompts":{}}`:              {`prompts/get {"name":"p"}`},
	} {
		t.Run(capabilities, func(t *testing.T) {
			s := upstreamtest.New(upstreamtest.Options{Capabilities: capabilities, Methods: methods, Eras: []upstreamtest.Era{upstreamtest.Era20251125}})
			if _, err := visit(t, s, Job{}); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, r := range s.Requests("resources/read", "prompts/get") {
				body, err := rawjson.ParseObject(r.Body, rawjson.Lenient)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, r.Method+" "+string(body.Get("params")))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestServerErrorsAreLogged(t *testing.T) {
	refusing := upstreamtest.Tool{
		Definition: `{"name":"refusing","inputSchema":{"type":"object"}}`,
		Call: func(context.Context, *upstreamtest.Call) upstreamtest.Result {
			return upstreamtest.Error(-32602, "not today")
		},
	}
	log, err := visit(t, upstreamtest.New(upstreamtest.Options{Tools: []upstreamtest.Tool{refusing}}), Job{})
	if err != nil || !strings.Contains(log, "not today") {
		t.Errorf("Run() = %v, want nil and the server's error in the log:\n%s", err, log)
	}
	_, err = visit(t, upstreamtest.New(upstreamtest.Options{Token: "secret"}), Job{Scenario: "tools_call"})
	if err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("Run() with a server that requires a token = %v, want a 401 error", err)
	}
	_, err = visit(t, upstreamtest.New(upstreamtest.Options{}), Job{Context: []byte(`{"toolCalls":1}`)})
	if err == nil || !strings.Contains(err.Error(), "MCP_CONFORMANCE_CONTEXT") {
		t.Errorf("Run() with an invalid context = %v, want an error that names the variable", err)
	}
}
