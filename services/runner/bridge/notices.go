//go:build linux || darwin

package bridge

import (
	"strconv"
	"strings"

	"mcpgateway/services/rawjson"
	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/wire"
)

// Notifications that the bridge handles.
const (
	notifyCancelled   = "notifications/cancelled"
	notifyInitialized = "notifications/initialized"
	notifyRoots       = "notifications/roots/list_changed"
	notifyMessage     = "notifications/message"
	suffixListChanged = "/list_changed"

	metaSubscription = "io.modelcontextprotocol/subscriptionId"
)

// notify handles a notification of the program that is not progress.
func (p *peer) notify(method string, params []byte) {
	message := wire.AppendNotification(nil, method, params)
	switch {
	case method == notifyCancelled:
		p.withdraw(params)
	case p.stateless.Load():
		p.publish(method, params)
	case strings.HasSuffix(method, suffixListChanged), method == upstream.ElicitationComplete, method == upstream.TaskStatus:
		p.broadcast(message, func(*session) bool { return true })
	case method == upstream.ResourceUpdated:
		p.updated(params, message)
	default:
		p.passToClient(method, params, message)
	}
}

// broadcast sends a notification to the streams of sessions.
func (p *peer) broadcast(message []byte, wanted func(*session) bool) (sent bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.sessions {
		if wanted(s) {
			s.sink.notify(message)
			sent = true
		}
	}
	return sent
}

// updated sends a changed resource to its subscribers. It can be a part of the
// resource that they subscribed to; then all subscribers receive it.
func (p *peer) updated(params, message []byte) {
	uri := ""
	if o, err := rawjson.ParseObject(params, rawjson.Lenient); err == nil {
		uri, _ = o.String("uri")
	}
	if !p.broadcast(message, func(s *session) bool { return s.subscribed[uri] }) {
		p.broadcast(message, func(s *session) bool { return len(s.subscribed) > 0 })
	}
}

// passToClient sends a log message or an unknown notification to the client whose
// call it belongs to. With several clients it is lost, because it could be
// another's.
func (p *peer) passToClient(method string, params, message []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c, s := p.clientOf()
	switch {
	case method == notifyMessage && (c != nil && !c.logs || s != nil && !s.passesLevel(params)):
	case c != nil:
		c.sink.notify(message)
	case s != nil && s.stream != nil:
		s.sink.notify(message)
	}
}

// publish sends a notification of revision 2026-07-28 to its subscription, with the
// client's own ID. Without the ID of a subscription it belongs to a call.
func (p *peer) publish(method string, params []byte) {
	o, err := rawjson.ParseObject(params, rawjson.Lenient)
	if err != nil {
		return
	}
	meta := o.Object("_meta")
	raw := meta.Get(metaSubscription)
	if raw == nil {
		p.passToClient(method, params, wire.AppendNotification(nil, method, params))
		return
	}
	id, err := strconv.ParseInt(strings.Trim(string(raw), `"`), 10, 64)
	if err != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := p.listens[id]; c != nil {
		meta.Set(metaSubscription, subscriptionID(raw, c.id))
		o.Set("_meta", meta.Bytes())
		c.sink.notify(wire.AppendNotification(nil, method, o.Bytes()))
	}
}

// subscriptionID returns the ID of a subscription at the client, as a string if that
// at the program is one.
func subscriptionID(atProgram, atClient []byte) []byte {
	if rawjson.Kind(atProgram) == '"' && rawjson.Kind(atClient) != '"' {
		return rawjson.Quote(string(atClient))
	}
	return atClient
}
