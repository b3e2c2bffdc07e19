package mcp

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/fault"
	"mcpgateway/services/gateway"
	"mcpgateway/services/gateway/subscriptions"
	"mcpgateway/services/gateway/tasks"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/upstream"
	"mcpgateway/web/conn"
	"mcpgateway/web/sse"
)

// metaSubscriptionID is the _meta key of notifications for the id of the
// request that opened the subscription (MCP 2026-07-28, "Subscriptions").
const metaSubscriptionID = "io.modelcontextprotocol/subscriptionId"

// subscribed are the notifications requested in subscriptions/listen.
type subscribed struct {
	ToolsListChanged      bool     `json:"toolsListChanged,omitempty"`
	PromptsListChanged    bool     `json:"promptsListChanged,omitempty"`
	ResourcesListChanged  bool     `json:"resourcesListChanged,omitempty"`
	ResourceSubscriptions []string `json:"resourceSubscriptions,omitzero"`
	TaskIDs               []string `json:"taskIds,omitzero"`
}

// has reports whether notifications of the method were requested.
func (s *subscribed) has(method string) bool {
	switch method {
	case subscriptions.NotifyToolsChanged:
		return s.ToolsListChanged
	case subscriptions.NotifyPromptsChanged:
		return s.PromptsListChanged
	case subscriptions.NotifyResourcesChanged:
		return s.ResourcesListChanged
	case subscriptions.NotifyResourceUpdated, upstream.TaskChanged:
		return true // sent only for agreed resources and tasks
	default:
		return false
	}
}

// any reports whether any notifications will be sent.
func (s *subscribed) any() bool {
	return s.ToolsListChanged || s.PromptsListChanged || s.ResourcesListChanged || len(s.ResourceSubscriptions)+len(s.TaskIDs) > 0
}

// listen responds to subscriptions/listen (MCP 2026-07-28, "Subscriptions")
// with a stream. It first acknowledges the available notifications, then sends
// them until either side closes the stream. If none are available, the stream
// ends after the acknowledgment.
func (e *Endpoint) listen(c *fiber.Ctx, in *admitted, client *gateway.Client, m *message) error {
	if !acceptsStream(c.Get(fiber.HeaderAccept)) {
		return invalidRequest(m.id, "subscriptions/listen returns an event stream. Send Accept: text/event-stream.").answer(c)
	}
	requested, err := wantedSubscriptions(m.params)
	if err != nil {
		return sendResponse(c, client, m, nil, err, func() {})
	}
	if requested.TaskIDs != nil && !tasks.Declares(client.Capabilities) {
		return sendResponse(c, client, m, nil, &gateway.RPCError{Raw: tasks.MissingCapability()}, func() {})
	}
	free, err := e.slots.Take(streamOwner(c, client.Principal))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.UserContext(), listenTimeout)
	defer cancel()
	unsubscribe, unwatch := func() {}, func() {}
	var stream *sse.Stream
	stream = sse.NewStream(c, sse.StreamOptions{
		KeepAlive: e.KeepAlive,
		Alive:     e.stillAdmitted(c, in),
		Stop:      func() { stream.EndWith(messageEvent, appendResult(nil, m.id, listenResult(m.id))) },
		Closed: func() {
			unsubscribe()
			unwatch()
			free()
		},
	})
	unwatch = conn.WatchDisconnect(c, func() {
		cancel()
		stream.Break()
	})
	var acknowledged atomic.Bool // nothing may be sent before the acknowledgment
	deliver := func(n subscriptions.Notification) {
		if acknowledged.Load() && requested.has(n.Method) {
			stream.Send(messageEvent, appendNotification(nil, n.Method, withSubscription(n.Params, m.id)))
		}
	}
	unsubscribe = e.subscribeTo(subscriptions.WithForwarded(ctx, client.Forwarded), in, client, requested, deliver, stream.End)
	if err := acknowledge(stream, requested, m.id); err != nil {
		stream.Discard()
		return err
	}
	acknowledged.Store(true)
	if !requested.any() {
		stream.EndWith(messageEvent, appendResult(nil, m.id, listenResult(m.id)))
	}
	return stream.Respond(c)
}

// subscribeTo calls deliver with notifications until cancel is called, and end
// once the caller is no longer admitted. It
// reduces the resources and tasks in requested to those that their servers agreed
// to watch.
func (e *Endpoint) subscribeTo(ctx context.Context, in *admitted, client *gateway.Client, requested *subscribed, deliver func(subscriptions.Notification), end func()) (cancel func()) {
	release, forget := func() {}, func() {}
	if requested.TaskIDs != nil {
		var watching context.Context
		watching, forget = context.WithCancel(context.WithoutCancel(ctx))
		agreed, err := e.Gateway.ListenTasks(watching, in.view, client, requested.TaskIDs, func(method string, params []byte) {
			deliver(subscriptions.Notification{Method: method, Params: params})
		})
		if err != nil { // the client declares tasks, so it can't fail
			agreed = nil
		}
		requested.TaskIDs = append([]string{}, agreed...)
	}
	if len(requested.ResourceSubscriptions) > 0 {
		agreed, stop := e.Subscriptions.SubscribeResources(ctx, in.view, in.principal, requested.ResourceSubscriptions, deliver)
		release, requested.ResourceSubscriptions = stop, append([]string{}, agreed...)
	}
	unsubscribe := e.Subscriptions.Subscribe(in.principal, deliver, end)
	return func() {
		unsubscribe()
		release()
		forget()
	}
}

// acceptsStream reports whether an Accept header allows an event stream.
func acceptsStream(accept string) bool {
	if accept == "" || strings.Contains(accept, "*/*") {
		return true
	}
	named, _ := sse.AcceptsEventStream(accept)
	return named
}

// acknowledge sends the client the notifications that are available.
func acknowledge(stream *sse.Stream, agreed *subscribed, id []byte) error {
	raw, err := json.Marshal(agreed)
	if err != nil {
		return fault.Internal(err)
	}
	params := append(append([]byte(`{"notifications":`), raw...), '}')
	stream.Send(messageEvent, appendNotification(nil, "notifications/subscriptions/acknowledged", withSubscription(params, id)))
	return nil
}

// wantedSubscriptions returns the notifications requested in the params of
// subscriptions/listen. It returns INVALID_PARAMETER for invalid params.
func wantedSubscriptions(params []byte) (*subscribed, error) {
	o, err := rawjson.ParseObject(params, rawjson.Strict)
	if err != nil {
		return nil, fault.Invalid("subscriptions/listen requires params.")
	}
	raw := o.Get("notifications")
	requested := &subscribed{}
	if rawjson.Kind(raw) != '{' || json.Unmarshal(raw, requested) != nil {
		return nil, fault.Invalid("params.notifications must be an object with the requested notifications, such as {\"toolsListChanged\":true}.")
	}
	return requested, nil
}

// withSubscription returns the params of a notification with the raw id of the
// subscription in _meta. params may be nil.
func withSubscription(params, id []byte) []byte {
	if params == nil {
		params = []byte("{}")
	}
	o, err := rawjson.ParseObject(params, rawjson.Lenient)
	if err != nil {
		return params
	}
	meta := o.Object("_meta")
	if meta == nil {
		o.Set("_meta", subscriptionMeta(id))
		return o.Bytes()
	}
	meta.Set(metaSubscriptionID, id)
	o.Set("_meta", meta.Bytes())
	return o.Bytes()
}

func subscriptionMeta(id []byte) []byte {
	return append(append([]byte(`{"`+metaSubscriptionID+`":`), id...), '}')
}

// listenResult returns the result of a subscription that the gateway ends
// normally.
func listenResult(id []byte) []byte {
	return append(append([]byte(`{"resultType":"complete","_meta":`), subscriptionMeta(id)...), '}')
}
