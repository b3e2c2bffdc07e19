package pool

import "mcpgateway/services/upstream"

// syncCapabilities are the client capabilities that the gateway declares for
// itself when it reads what an upstream offers: all that it relays for clients.
// Upstreams register tools by what their client declares, and one list serves
// all clients. The gateway relays no extension yet, so it declares none.
const syncCapabilities = `{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{},"context":{}},"roots":{"listChanged":true}}`

// own returns the key of the session that the gateway uses for itself: to sync,
// to watch and to subscribe.
func own() sessionKey { return sessionKey{capabilities: syncCapabilities, own: true} }

// ownClient is the client of the gateway's own requests.
func ownClient() upstream.Client { return upstream.Client{Capabilities: []byte(syncCapabilities)} }
