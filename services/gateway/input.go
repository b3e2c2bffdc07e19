package gateway

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"

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
		params, _ = withElicitationID(params)
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
// call (MCP 2026-07-28, "Multi Round-Trip Requests"). It returns the IDs of the
// URL elicitations that the user accepted.
func (g *Gateway) collectInput(ctx context.Context, client *Client, wanted, params *rawjson.Object) (accepted []string, err error) {
	requests := wanted.Object("inputRequests")
	names := requests.Names()
	answers, ids := make([][]byte, len(names)), make([]string, len(names))
	group, ctx := errgroup.WithContext(ctx)
	for i, name := range names {
		group.Go(g.Tasks.ErrFunc("input request", func() (err error) {
			answers[i], ids[i], err = requestInput(ctx, client, requests.Object(name))
			return err
		}))
	}
	if err := group.Wait(); err != nil {
		return nil, err
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
	return slices.DeleteFunc(ids, func(id string) bool { return id == "" }), nil
}

// requestInput sends one input request to the client. It returns the raw
// response, and the ID of a URL elicitation that the user accepted.
func requestInput(ctx context.Context, client *Client, request *rawjson.Object) (answer []byte, accepted string, err error) {
	method, _ := request.String("method")
	if !clientSupports(client, method) {
		return nil, "", fault.Upstream(fault.CodeUpstreamInvalidResponse, "The upstream server requested %q, which this client doesn't support.", clip(method))
	}
	params, id := request.Get("params"), ""
	if method == "elicitation/create" {
		params, id = withElicitationID(params)
	}
	result, rpcError, err := client.Ask(ctx, method, params)
	switch {
	case err != nil:
		return nil, "", err
	case rpcError == nil:
		if !isAccepted(result) {
			id = ""
		}
		return result, id, nil
	case method == "elicitation/create":
		return []byte(`{"action":"cancel"}`), "", nil // the result closest to an error
	default:
		o, _ := rawjson.ParseObject(rpcError, rawjson.Lenient)
		message, _ := o.String("message")
		return nil, "", fault.Upstream(fault.CodeUpstreamUnavailable, "The upstream server requested %s, which the client rejected: %s", method, clip(message))
	}
}

// isAccepted reports whether the raw result of an elicitation accepts it.
func isAccepted(result []byte) bool {
	o, err := rawjson.ParseObject(result, rawjson.Lenient)
	if err != nil {
		return false
	}
	action, _ := o.String("action")
	return action == "accept"
}

// withElicitationID adds an ID to the params of a URL elicitation and returns
// it. Version 2025-11-25 requires it and 2026-07-28 doesn't have it. Other
// elicitations have no ID.
func withElicitationID(params []byte) (with []byte, id string) {
	o, err := rawjson.ParseObject(params, rawjson.Lenient)
	if err != nil {
		return params, ""
	}
	if mode, _ := o.String("mode"); mode != "url" {
		return params, ""
	}
	if id, _ := o.String("elicitationId"); id != "" {
		return params, id
	}
	id = rand.Text()
	o.Set("elicitationId", rawjson.Quote(id))
	return o.Bytes(), id
}
