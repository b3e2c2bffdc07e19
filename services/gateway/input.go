package gateway

import (
	"context"
	"crypto/rand"
	"fmt"

	"golang.org/x/sync/errgroup"

	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/upstream"
)

// relayedRequests are the requests of upstreams that clients may be asked, by
// the capability that a client must have declared for it.
func relayedRequest(method string) (capability string) {
	switch method {
	case "elicitation/create":
		return "elicitation"
	case "sampling/createMessage":
		return "sampling"
	case "roots/list":
		return "roots"
	default:
		return ""
	}
}

// mayAsk reports whether the client declared what the request needs.
func mayAsk(client *Client, method string) bool {
	capability := relayedRequest(method)
	if capability == "" {
		return false
	}
	declared, err := rawjson.ParseObject(client.Capabilities, rawjson.Lenient)
	return err == nil && declared.Get(capability) != nil
}

// ask passes a request of a handshake upstream on to a handshake client and
// returns its raw result or error.
func ask(ctx context.Context, client *Client, method string, params []byte) (result, rpcError []byte) {
	if !mayAsk(client, method) {
		return nil, rpcErrorOf(upstream.CodeMethodNotFound, "the client did not declare what "+method+" needs")
	}
	result, rpcError, err := client.Ask(ctx, method, params)
	if err != nil {
		return nil, rpcErrorOf(upstream.CodeInternalError, "the client did not answer: "+err.Error())
	}
	return result, rpcError
}

func rpcErrorOf(code int, message string) []byte {
	return append(append(fmt.Appendf(nil, `{"code":%d,"message":`, code), rawjson.Quote(message)...), '}')
}

// collectInput asks a handshake client for the input that a stateless
// upstream wants and writes the answers into the params of the next try (MCP
// 2026-07-28, "Multi Round-Trip Requests").
func (g *Gateway) collectInput(ctx context.Context, client *Client, wanted, params *rawjson.Object) error {
	requests := wanted.Object("inputRequests")
	names := requests.Names()
	answers := make([][]byte, len(names))
	group, ctx := errgroup.WithContext(ctx)
	for i, name := range names {
		group.Go(g.Tasks.ErrFunc("request for input", func() (err error) {
			answers[i], err = askForInput(ctx, client, requests.Object(name))
			return err
		}))
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if len(names) > 0 {
		responses := []byte{'{'}
		for i, name := range names {
			if i > 0 {
				responses = append(responses, ',')
			}
			responses = append(rawjson.AppendString(responses, name), ':')
			responses = append(responses, answers[i]...)
		}
		params.Set("inputResponses", append(responses, '}'))
	}
	if state := wanted.Get("requestState"); state != nil {
		params.Set("requestState", state)
	} else {
		params.Delete("requestState")
	}
	return nil
}

func askForInput(ctx context.Context, client *Client, request *rawjson.Object) ([]byte, error) {
	method, _ := request.String("method")
	if !mayAsk(client, method) {
		return nil, fault.Upstream(fault.CodeUpstreamInvalidResponse, "the upstream asks for %q, which the client did not declare", clip(method))
	}
	params := request.Get("params")
	if method == "elicitation/create" {
		params = withElicitationID(params)
	}
	result, rpcError, err := client.Ask(ctx, method, params)
	switch {
	case err != nil:
		return nil, err
	case rpcError == nil:
		return result, nil
	case method == "elicitation/create":
		return []byte(`{"action":"cancel"}`), nil // the closest that has a form
	default:
		o, _ := rawjson.ParseObject(rpcError, rawjson.Lenient)
		message, _ := o.String("message")
		return nil, fault.Upstream(fault.CodeUpstreamUnavailable, "the upstream needs %s, which the client refused: %s", method, clip(message))
	}
}

// withElicitationID gives a URL elicitation the id that revision 2025-11-25
// requires and 2026-07-28 does not know.
func withElicitationID(params []byte) []byte {
	o, err := rawjson.ParseObject(params, rawjson.Lenient)
	if err != nil {
		return params
	}
	if mode, _ := o.String("mode"); mode != "url" || o.Get("elicitationId") != nil {
		return params
	}
	o.Set("elicitationId", rawjson.Quote(rand.Text()))
	return o.Bytes()
}
