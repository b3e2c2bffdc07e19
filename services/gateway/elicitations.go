package gateway

import (
	lru "container/list"
	"context"
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
	relay *relay        // of the call that it was sent for
	done  chan struct{} // closed when it is complete
}

func newElicitations() *elicitations {
	return &elicitations{order: lru.New(), byID: map[elicitationKey]*lru.Element{}}
}

// elicitationID returns the ID in the raw params of an elicitation, or "".
func elicitationID(params []byte) string {
	o, err := rawjson.ParseObject(params, rawjson.Lenient)
	if err != nil {
		return ""
	}
	id, _ := o.String("elicitationId")
	return id
}

// give records that an elicitation was sent to the client of the relay, if its
// protocol version has URL elicitations. An empty ID is ignored.
func (e *elicitations) give(r *relay, id string) {
	if id == "" || r.client.Load().Version < VersionLatestHandshake {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	key := elicitationKey{r.serverID, r.userID, id}
	if old := e.byID[key]; old != nil {
		e.order.Remove(old)
	}
	e.byID[key] = e.order.PushFront(&elicitation{key: key, given: time.Now(), relay: r, done: make(chan struct{})})
	for last := e.order.Back(); e.order.Len() > maxElicitations || last != nil && time.Since(last.Value.(*elicitation).given) > elicitationTTL; last = e.order.Back() {
		delete(e.byID, e.order.Remove(last).(*elicitation).key)
	}
}

// complete marks an elicitation as complete and returns the relay of the client
// that received it, or nil. userID is the owner of the account at the server, or
// empty. params are the raw params of the completion notification.
func (e *elicitations) complete(serverID, userID string, params []byte) *relay {
	id := elicitationID(params)
	e.mu.Lock()
	defer e.mu.Unlock()
	element := e.byID[elicitationKey{serverID, userID, id}]
	if element == nil || time.Since(element.Value.(*elicitation).given) > elicitationTTL {
		return nil
	}
	found := element.Value.(*elicitation)
	select {
	case <-found.done:
	default:
		close(found.done)
	}
	return found.relay
}

// wait waits until all elicitations are complete, for at most the given time.
// One that this process doesn't know never completes. It returns the context's
// error.
func (e *elicitations) wait(ctx context.Context, serverID, userID string, ids []string, most time.Duration) error {
	over := time.NewTimer(most)
	defer over.Stop()
	for _, id := range ids {
		var done chan struct{}
		e.mu.Lock()
		if element := e.byID[elicitationKey{serverID, userID, id}]; element != nil {
			done = element.Value.(*elicitation).done
		}
		e.mu.Unlock()
		select {
		case <-done:
		case <-over.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
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
