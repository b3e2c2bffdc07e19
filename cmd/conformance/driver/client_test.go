//go:build conformance

// Package driver uses the gateway's upstream client as a person's MCP client
// would be used through it, for the client role of the conformance suites: it
// lists what a server has, uses all of it, and answers what the server asks.
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
	// callTimeout is below the 30 seconds that a suite gives a scenario.
	callTimeout = 20 * time.Second
	// maxRounds bounds how often a server may ask for input before it answers
	// one request.
	maxRounds = 8
)

// capabilities are what the driver, as the person's client, can be asked for.
const capabilities = `{"elicitation":{"form":{}},"sampling":{},"roots":{}}`

// Job is what a suite gives to the client that it tests.
type Job struct {
	Scenario string // its name, from MCP_CONFORMANCE_SCENARIO
	URL      string // of the server that the suite started
	Context  []byte // a raw JSON object with what the scenario prescribes, from MCP_CONFORMANCE_CONTEXT, or nil
}

// driver is one visit to one server.
type driver struct {
	pool   *pool.Pool
	target *upstream.Target
	person *person // nil where no server wants to be authorized
	log    io.Writer
}

// Run visits the job's server and tells on log what it said. The error holds
// every fault of the upstream client; an error that the server answered a
// request with is told, but is no error.
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

// authorized runs use, and again each time that the server wanted an
// authorization and got it.
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
		return fmt.Errorf("list the tools: %w", err)
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
		return fmt.Errorf("read the server's capabilities: %w", err)
	}
	if able.Get("resources") != nil {
		failures = append(failures, d.each(ctx, "resources/list", "resources", "uri", "resources/read"))
	}
	if able.Get("prompts") != nil {
		failures = append(failures, d.each(ctx, "prompts/list", "prompts", "name", "prompts/get"))
	}
	return errors.Join(failures...)
}

// each lists something and uses every entry of the first page by its key.
func (d *driver) each(ctx context.Context, list, member, key, use string) error {
	result, err := d.request(ctx, list, nil, nil)
	if err != nil || result == nil {
		return err
	}
	entries, err := rawjson.Elements(result.Get(member), rawjson.Lenient)
	if err != nil {
		return fmt.Errorf("%s answered without %s: %w", list, member, err)
	}
	var failures []error
	for _, raw := range entries {
		entry, err := rawjson.ParseObject(raw, rawjson.Lenient)
		if err != nil {
			failures = append(failures, fmt.Errorf("%s holds %s: %w", list, raw, err))
			continue
		}
		params := append(append([]byte(`{"`+key+`":`), entry.Get(key)...), '}')
		failures = append(failures, d.use(ctx, use, params, nil))
	}
	return errors.Join(failures...)
}

// use makes a request and gives the input that the server requires, as
// revision 2026-07-28 has it ("Multi round-trip requests"): the same request
// anew with the answers, and with the state exactly when there was one.
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
		if again, err = answered(ctx, again, result); err != nil {
			return fmt.Errorf("%s: %w", method, err)
		}
		now = again.Bytes()
	}
	return fmt.Errorf("%s still required input after %d rounds", method, maxRounds)
}

// answered returns the params of the repeated request.
func answered(ctx context.Context, params, result *rawjson.Object) (*rawjson.Object, error) {
	if requests := result.Object("inputRequests"); requests != nil {
		responses, err := rawjson.ParseObject([]byte("{}"), rawjson.Lenient)
		if err != nil {
			return nil, err
		}
		for _, name := range requests.Names() {
			asked := requests.Object(name)
			method, _ := asked.String("method")
			answer, rpcError := respond(ctx, method, asked.Get("params"))
			if rpcError != nil {
				return nil, fmt.Errorf("the server requires input by %q, which was not offered", method)
			}
			responses.Set(name, answer)
		}
		params.Set("inputResponses", responses.Bytes())
	}
	if state := result.Get("requestState"); state != nil {
		params.Set("requestState", state)
	}
	return params, nil
}

// request sends one request and returns its result; nil when the server
// answered with an error, which is told.
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

// orEmpty returns raw, or an empty object for what is absent.
func orEmpty(raw []byte) []byte {
	if raw == nil {
		return []byte("{}")
	}
	return raw
}

// parseContext returns the calls that the scenario prescribes, or nil.
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
		return nil, fmt.Errorf("MCP_CONFORMANCE_CONTEXT is not what the suite gives: %w", err)
	}
	var calls []call
	for _, c := range prescribed.ToolCalls {
		calls = append(calls, call{name: c.Name, arguments: c.Arguments})
	}
	return calls, nil
}
