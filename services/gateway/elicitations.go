package gateway

import (
	lru "container/list"
	"sync"
	"time"

	"mcpgateway/services/gateway/connecting"
	"mcpgateway/services/rawjson"
)

// Limits for URL elicitations whose completion is reported to clients.
const (
	maxElicitations = 10_000
	elicitationTTL  = time.Hour
)

// elicitations are the URL elicitations sent to clients (MCP 2025-11-25,
// "Elicitation"). The completion notification may arrive on the stream of any
// client. It is forwarded to the client that received the elicitation.
type elicitations struct {
	mu    sync.Mutex
	order *lru.List // of *elicitation, newest first
	byID  map[elicitationKey]*lru.Element
}

type elicitationKey struct{ serverID, userID, id string }

type elicitation struct {
	key   elicitationKey
	given time.Time
	relay *relay // of the call that it was sent for
}

func newElicitations() *elicitations {
	return &elicitations{order: lru.New(), byID: map[elicitationKey]*lru.Element{}}
}

// give records that an elicitation with the raw params was sent to the client
// of the relay. An elicitation without an id is ignored.
func (e *elicitations) give(r *relay, params []byte) {
	o, err := rawjson.ParseObject(params, rawjson.Lenient)
	if err != nil {
		return
	}
	id, _ := o.String("elicitationId")
	if id == "" || r.client.Load().Version != VersionLatestHandshake {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	key := elicitationKey{r.serverID, r.userID, id}
	if old := e.byID[key]; old != nil {
		e.order.Remove(old)
	}
	e.byID[key] = e.order.PushFront(&elicitation{key: key, given: time.Now(), relay: r})
	for last := e.order.Back(); e.order.Len() > maxElicitations || last != nil && time.Since(last.Value.(*elicitation).given) > elicitationTTL; last = e.order.Back() {
		delete(e.byID, e.order.Remove(last).(*elicitation).key)
	}
}

// giveAll records the elicitations in a raw JSON-RPC error with code -32042.
func (e *elicitations) giveAll(r *relay, rpcError []byte) {
	o, err := rawjson.ParseObject(rpcError, rawjson.Lenient)
	if err != nil {
		return
	}
	all, err := rawjson.Elements(o.Object("data").Get("elicitations"), rawjson.Lenient)
	if err != nil {
		return
	}
	for _, raw := range all {
		e.give(r, raw)
	}
}

// owner returns the relay of the client that received an elicitation, or nil.
// userID is the owner of the account at the server, or empty. params are the raw
// params of the completion notification.
func (e *elicitations) owner(serverID, userID string, params []byte) *relay {
	o, err := rawjson.ParseObject(params, rawjson.Lenient)
	if err != nil {
		return nil
	}
	id, _ := o.String("elicitationId")
	e.mu.Lock()
	defer e.mu.Unlock()
	found := e.byID[elicitationKey{serverID, userID, id}]
	if found == nil || time.Since(found.Value.(*elicitation).given) > elicitationTTL {
		return nil
	}
	return found.Value.(*elicitation).relay
}

// own returns the relays of the gateway's own elicitations that ask a user to
// connect their account to a server, by their ids.
func (e *elicitations) own(serverID, userID string) map[string]*relay {
	e.mu.Lock()
	defer e.mu.Unlock()
	found := map[string]*relay{}
	for key, element := range e.byID {
		if key.serverID == serverID && key.userID == userID && connecting.IsOwn(key.id) {
			if r := element.Value.(*elicitation).relay; r.config != nil {
				found[key.id] = r
			}
		}
	}
	return found
}

func (e *elicitations) remove(key elicitationKey) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if element := e.byID[key]; element != nil {
		e.order.Remove(element)
		delete(e.byID, key)
	}
}
