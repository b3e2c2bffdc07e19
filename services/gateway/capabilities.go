package gateway

import "mcpgateway/services/capabilities"

// clientCapabilities is what the gateway derives from the capabilities object of
// a client.
type clientCapabilities struct {
	calls capabilities.Calls
	// asked reports whether the client handles a request of servers.
	asked bool
}

func newClientCapabilities(raw []byte) clientCapabilities {
	return clientCapabilities{calls: capabilities.ForCalls(raw), asked: capabilities.Identify(raw).Asked}
}

// callCapabilities returns the raw capabilities object that calls of a client
// declare to servers, or nil, and whether servers can send it requests. A
// handshake client can be asked on its stream only. A stateless client receives
// the request in an input_required result and repeats the call with its input.
func (g *Gateway) callCapabilities(client *Client) (declared []byte, asked bool) {
	if client.Capabilities == nil {
		return nil, false
	}
	all := g.clients.Of(client.Capabilities)
	use := capabilities.Use{Asked: client.Stateless() || client.Ask != nil, Tasks: acceptsTasks(client)}
	return all.calls.Of(use), all.asked && use.Asked
}

// acceptsTasks reports whether the result of a client's call can be a task of the
// tasks extension. The gateway relays none.
func acceptsTasks(*Client) bool { return false }
