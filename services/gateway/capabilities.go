package gateway

import "mcpgateway/services/capabilities"

// clientCapabilities are values derived from the capabilities object of a client.
type clientCapabilities struct {
	calls capabilities.Calls
	// interactive reports whether the client handles requests of servers.
	interactive bool
}

func newClientCapabilities(raw []byte) clientCapabilities {
	return clientCapabilities{calls: capabilities.ForCalls(raw), interactive: capabilities.Identify(raw).Interactive}
}

// callCapabilities returns the raw capabilities object that calls of a client
// declare to servers, or nil, and whether servers can send it requests. A
// handshake client receives requests on its stream only. A stateless client
// receives them in an input_required result and repeats the call with its input.
func (g *Gateway) callCapabilities(client *Client) (declared []byte, interactive bool) {
	if client.Capabilities == nil {
		return nil, false
	}
	all := g.clients.Of(client.Capabilities)
	use := capabilities.Use{Interactive: client.Stateless() || client.Ask != nil, Tasks: acceptsTasks(client)}
	return all.calls.Of(use), all.interactive && use.Interactive
}

// acceptsTasks reports whether the result of a client's call can be a task of the
// tasks extension. Handshake clients and built-in tools take only the result.
func acceptsTasks(client *Client) bool { return client.Stateless() && !client.inner }
