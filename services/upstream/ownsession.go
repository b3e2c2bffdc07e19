package upstream

import "context"

// syncCapabilities are the client capabilities that the gateway declares for
// itself when it reads what an upstream offers: all that it relays for clients.
// Upstreams register tools by what their client declares, and one list serves
// all clients. The gateway relays no extension yet, so it declares none.
const syncCapabilities = `{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{},"context":{}},"roots":{"listChanged":true}}`

// own returns the key of the session that the gateway uses for itself: to sync,
// to watch and to subscribe.
func own() sessionKey { return sessionKey{capabilities: syncCapabilities, own: true} }

// ownClient is the client of the gateway's own requests.
func ownClient() Client { return Client{Capabilities: []byte(syncCapabilities)} }

// answerWithoutClient returns the response to a request of an upstream on the
// gateway's own session, which has no user: no roots, a cancelled elicitation, an
// error for sampling, and nothing for other requests, which are rejected.
func answerWithoutClient(_ context.Context, method string, _ []byte) (result, rpcError []byte) {
	switch method {
	case "roots/list":
		return []byte(`{"roots":[]}`), nil
	case "elicitation/create":
		return []byte(`{"action":"cancel"}`), nil
	case "sampling/createMessage":
		return nil, []byte(`{"code":-32603,"message":"no client is connected: the gateway is reading the server's inventory"}`)
	default:
		return nil, nil
	}
}
