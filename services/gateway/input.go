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

// relayedRequest returns the client capability that a request of an upstream
// server requires, or "" for a request that is not relayed.
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

// clientSupports reports whether the client declared the capability for the request.
func clientSupports(client *Client, method string) bool {
	capability := relayedRequest(method)
	if capability == "" {
		return false
	}
	declared, err := rawjson.ParseObject(client.Capabilities, rawjson.Lenient)
	return err == nil && declared.Get(capability) != nil
}

// forwardToClient forwards a request of a handshake server to a handshake client and
// returns its raw result or error.
func forwardToClient(ctx context.Context, client *Client, method string, params []byte) (result, rpcError []byte) {
	if !clientSupports(client, method) {
		return nil, rpcErrorOf(upstream.CodeMethodNotFound, "The client doesn't support "+method+".")
	}
	if method == "elicitation/create" {
		params = withElicitationID(params)
	}
	result, rpcError, err := client.Ask(ctx, method, params)
	if err != nil {
		return nil, rpcErrorOf(upstream.CodeInternalError, "The client did not respond: "+err.Error())
	}
	return result, rpcError
}

func rpcErrorOf(code int, message string) []byte {
	return append(append(fmt.Appendf(nil, `{"code":%d,"message":`, code), rawjson.Quote(message)...), '}')
}

// collectInput requests the input that a stateless server requires from a
// handshake client. It writes the responses into the params for the repeated
// call (MCP 2026-07-28, "Multi Round-Trip Requests").
func (g *Gateway) collectInput(ctx context.Context, client *Client, wanted, params *rawjson.Object) error {
	requests := wanted.Object("inputRequests")
	names := requests.Names()
	answers := make([][]byte, len(names))
	group, ctx := errgroup.WithContext(ctx)
	for i, name := range names {
		group.Go(g.Tasks.ErrFunc("input request", func() (err error) {
			answers[i], err = requestInput(ctx, client, requests.Object(name))
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

func requestInput(ctx context.Context, client *Client, request *rawjson.Object) ([]byte, error) {
	method, _ := request.String("method")
	if !clientSupports(client, method) {
		return nil, fault.Upstream(fault.CodeUpstreamInvalidResponse, "The upstream server requested %q, which this client doesn't support.", clip(method))
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
		return []byte(`{"action":"cancel"}`), nil // the result closest to an error
	default:
		o, _ := rawjson.ParseObject(rpcError, rawjson.Lenient)
		message, _ := o.String("message")
		return nil, fault.Upstream(fault.CodeUpstreamUnavailable, "The upstream server requested %s, which the client rejected: %s", method, clip(message))
	}
}

// withElicitationID adds an id to a URL elicitation. Version 2025-11-25
// requires it and 2026-07-28 doesn't have it.
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
