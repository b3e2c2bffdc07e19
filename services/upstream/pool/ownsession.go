package pool

import "mcpgateway/services/upstream"

// syncCapabilities are the client capabilities of the gateway's own session:
// all that it relays for clients. Upstreams choose their tools by these
// capabilities, and one list serves all clients. The gateway relays no
// extensions, so it declares none.
const syncCapabilities = `{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{},"context":{}},"roots":{"listChanged":true}}`

// gatewaySessionKey returns the key of the gateway's own session, used to sync, watch and
// subscribe.
func gatewaySessionKey() sessionKey { return sessionKey{capabilities: syncCapabilities, own: true} }

// ownClient returns the client of the gateway's own requests.
func ownClient() upstream.Client { return upstream.Client{Capabilities: []byte(syncCapabilities)} }
