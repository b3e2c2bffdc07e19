//go:build conformance

// Package driver is the program that the conformance suites test in the client
// role. It uses the gateway's upstream client: it lists and uses the tools,
// resources and prompts of a server, and responds to its requests.
package driver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/egress"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/pool"
)

const (
	// callTimeout is shorter than the suites' timeout of 30 seconds for a scenario.
	callTimeout = 20 * time.Second
	// maxRounds is the maximum number of results per request that require input.
	maxRounds = 8
)

// capabilities are the client capabilities that the driver declares.
const capabilities = `{"elicitation":{"form":{}},"sampling":{},"roots":{}}`

// Job is the input that a suite passes to the client under test.
type Job struct {
	Scenario string // name, from MCP_CONFORMANCE_SCENARIO
	URL      string // of the suite's server
	Context  []byte // JSON object with the scenario's parameters, from MCP_CONFORMANCE_CONTEXT, or nil
}

// driver runs one job.
type driver struct {
	pool   *pool.Pool
	target *upstream.Target
	person *person // nil if the scenario isn't about authorization
	log    io.Writer
}

// Run runs the job and logs the server's messages. It returns all errors of the
// upstream client. JSON-RPC errors of the server are logged, but not returned.
func Run(ctx context.Context, job Job, log io.Writer) error {
	clients := egress.NewClients(egress.NewGuard(egress.DefaultAllow(true)))
	defer clients.Close()
	pool := pool.New(clients.MCP(), "conformance")
	defer pool.Close()
	d := &driver{pool: pool, log: log, target: &upstream.Target{
		ServerID: "conformance", Alias: "conformance", URL: job.URL, Version: 1,
		Transport: models.TransportAuto, Timeout: callTimeout, SessionMode: models.SessionShared,
	}}
	if strings.HasPrefix(job.Scenario, authorization) {
		who, closed, err := newPerson(ctx, job, clients.MCP(), log)
		if err != nil {
			return fmt.Errorf("prepare the connection: %w", err)
		}
		defer closed()
		d.person, d.target, job.Context = who, who.target(), nil
	}
	return d.visit(ctx, job)
}

// authorized calls use. If the server requires authorization, it authorizes and
// calls use again.
func (d *driver) authorized(ctx context.Context, use func() error) error {
	for {
		err := use()
		if err == nil || d.person == nil {
			return err
		}
		helped, failed := d.person.helps(ctx, err)
		if !helped || failed != nil {
			return errors.Join(err, failed)
		}
	}
}

func (d *driver) visit(ctx context.Context, job Job) error {
	var tools [][]byte
	var about *upstream.Description
	var warnings []string
	err := d.authorized(ctx, func() (err error) {
		tools, about, warnings, err = d.pool.ListTools(ctx, d.target)
		return err
	})
	if err != nil {
		return fmt.Errorf("list tools: %w", err)
	}
	fmt.Fprintf(d.log, "%s over %s, %d tools\n", about.ProtocolVersion, about.Transport, len(tools))
	for _, warning := range warnings {
		fmt.Fprintln(d.log, warning)
	}
	calls, err := plan(job, tools)
	if err != nil {
		return err
	}
	var failures []error
	for _, c := range calls {
		failures = append(failures, d.use(ctx, "tools/call", c.params(), c.headers))
	}
	able, err := rawjson.ParseObject(orEmpty(about.Capabilities), rawjson.Lenient)
	if err != nil {
		return fmt.Errorf("parse capabilities: %w", err)
	}
	if able.Get("resources") != nil {
		failures = append(failures, d.each(ctx, "resources/list", "resources", "uri", "resources/read"))
	}
	if able.Get("prompts") != nil {
		failures = append(failures, d.each(ctx, "prompts/list", "prompts", "name", "prompts/get"))
	}
	return errors.Join(failures...)
}

// each requests a list and uses every entry of its first page.
func (d *driver) each(ctx context.Context, list, member, key, use string) error {
	result, err := d.request(ctx, list, nil, nil)
	if err != nil || result == nil {
		return err
	}
	entries, err := rawjson.Elements(result.Get(member), rawjson.Lenient)
	if err != nil {
		return fmt.Errorf("%s: result without %s: %w", list, member, err)
	}
	var failures []error
	for _, raw := range entries {
		entry, err := rawjson.ParseObject(raw, rawjson.Lenient)
		if err != nil {
			failures = append(failures, fmt.Errorf("%s: invalid entry %s: %w", list, raw, err))
			continue
		}
		params := append(append([]byte(`{"`+key+`":`), entry.Get(key)...), '}')
		failures = append(failures, d.use(ctx, use, params, nil))
	}
	return errors.Join(failures...)
}

// use sends a request and provides the input that the server requires (MCP
// 2026-07-28, "Multi round-trip requests"): it sends the same request again with the
// responses, and with the request state if there was one.
func (d *driver) use(ctx context.Context, method string, params []byte, headers upstream.ParamHeaders) error {
	now := params
	for range maxRounds {
		result, err := d.request(ctx, method, now, headers)
		if err != nil || result == nil {
			return err
		}
		if kind, _ := result.String("resultType"); kind != "input_required" {
			return nil
		}
		again, err := rawjson.ParseObject(params, rawjson.Lenient)
		if err != nil {
			return err
		}
		if again, err = addResponses(ctx, again, result); err != nil {
			return fmt.Errorf("%s: %w", method, err)
		}
		now = again.Bytes()
	}
	return fmt.Errorf("%s: input still required after %d rounds", method, maxRounds)
}

// addResponses returns the params of the repeated request: those of the original request
// with the responses and the request state.
func addResponses(ctx context.Context, params, result *rawjson.Object) (*rawjson.Object, error) {
	if requests := result.Object("inputRequests"); requests != nil {
		responses, err := rawjson.ParseObject([]byte("{}"), rawjson.Lenient)
		if err != nil {
			return nil, err
		}
		for _, name := range requests.Names() {
			request := requests.Object(name)
			method, _ := request.String("method")
			response, rpcError := respond(ctx, method, request.Get("params"))
			if rpcError != nil {
				return nil, fmt.Errorf("server requires input with %q, which the client does not support", method)
			}
			responses.Set(name, response)
		}
		params.Set("inputResponses", responses.Bytes())
	}
	if state := result.Get("requestState"); state != nil {
		params.Set("requestState", state)
	}
	return params, nil
}

// request sends one request and returns its result, or nil for a JSON-RPC error. It
// logs both.
func (d *driver) request(ctx context.Context, method string, params []byte, headers upstream.ParamHeaders) (*rawjson.Object, error) {
	var response *upstream.Response
	err := d.authorized(ctx, func() (err error) {
		response, err = d.pool.Call(ctx, d.target, &upstream.Request{
			Method: method, Params: params, ParamHeaders: headers,
			Client: upstream.Client{SessionID: "driver", Capabilities: []byte(capabilities)},
			Serve:  respond,
			Notify: func(method string, params []byte) { fmt.Fprintf(d.log, "< %s %s\n", method, params) },
		})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	fmt.Fprintf(d.log, "%s %s = %s%s\n", method, params, response.Result, response.Error)
	if response.Error != nil {
		return nil, nil
	}
	return rawjson.ParseObject(response.Result, rawjson.Lenient)
}

// orEmpty returns raw, or an empty object if raw is nil.
func orEmpty(raw []byte) []byte {
	if raw == nil {
		return []byte("{}")
	}
	return raw
}

// parseContext returns the calls that the context prescribes, or nil.
func parseContext(raw []byte) ([]call, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	var prescribed struct {
		ToolCalls []struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"toolCalls"`
	}
	if err := json.Unmarshal(raw, &prescribed); err != nil {
		return nil, fmt.Errorf("invalid MCP_CONFORMANCE_CONTEXT: %w", err)
	}
	var calls []call
	for _, c := range prescribed.ToolCalls {
		calls = append(calls, call{name: c.Name, arguments: c.Arguments})
	}
	return calls, nil
}
