package pool

import (
	"context"
	"time"

	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/transport"
	"mcpgateway/services/upstream/wire"
)

// ListenTasks opens a stream with the states of tasks of a stateless upstream
// (SEP-2663, "Task status notifications"). It calls agreed with the ids that the
// upstream accepted, then notify with the raw params of each state, until ctx is
// cancelled, the stream ends or the configuration of the server changes. It returns
// INVALID_PARAMETER for an upstream without such streams and the faults of Call.
func (p *Pool) ListenTasks(ctx context.Context, t *upstream.Target, client upstream.Client, ids []string, agreed func(ids []string), notify func(params []byte)) error {
	ctx, leave, ok := p.join(ctx)
	if !ok {
		return closing(placeOf(t))
	}
	defer leave()
	server := p.server(t)
	if server == nil {
		return fault.Invalid("The server was not saved.")
	}
	started := time.Now()
	a := server.account(t)
	ss, err := a.acquire(ctx, t, p.keyOf(t, client), client.Capabilities)
	if err != nil {
		return explain(ctx, t, started, err)
	}
	defer a.release(ss)
	s, ok := ss.transport.(*transport.Streamable)
	if !ok || !ss.stateless {
		return fault.Invalid("%s has no streams of tasks.", placeOf(t))
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(ss.inUse, cancel)()
	x, err := p.listenTasks(ctx, ss, t, client, ids)
	if err != nil {
		return err
	}
	silent := time.AfterFunc(transport.MaxConnectTime+t.StartTime(), cancel)
	defer silent.Stop()
	x.Notify = func(method string, params []byte) {
		switch {
		case method == notifyAcknowledged && silent.Stop():
			agreed(acceptedTasks(params))
		case method == upstream.TaskChanged:
			notify(withoutSubscription(params))
		}
	}
	end := s.Listen(ctx, x, "", func() {})
	switch {
	case end.Err != nil:
		return explain(ctx, t, started, end.Err)
	case end.Reply.RPCError != nil:
		return &upstream.AnswerError{Raw: end.Reply.RPCError}
	}
	return nil
}

// listenTasks returns the request that opens the stream.
func (p *Pool) listenTasks(ctx context.Context, ss *session, t *upstream.Target, client upstream.Client, ids []string) (*transport.Exchange, error) {
	configured, err := ss.filter.HeadersOf(ctx, t)
	if err != nil {
		return nil, err
	}
	raw := []byte(`{"notifications":{"taskIds":[`)
	for i, id := range ids {
		if i > 0 {
			raw = append(raw, ',')
		}
		raw = rawjson.AppendString(raw, id)
	}
	params, err := rawjson.ParseObject(append(raw, "]}}"...), rawjson.Lenient)
	if err != nil {
		return nil, err
	}
	x := &transport.Exchange{ID: p.nextListenID(), Header: wire.RequestHeader(configured, ss.header), Stateless: true, Heard: ss.onNotification}
	x.Body, _, err = wire.StatelessRequest(x.ID, methodListen, params, client.Capabilities, p.self)
	x.Header[wire.HeaderMethod] = []string{methodListen}
	return x, err
}

// acceptedTasks returns the ids in the params of an acknowledgment.
func acceptedTasks(params []byte) []string {
	o, err := rawjson.ParseObject(params, rawjson.Lenient)
	if err != nil {
		return nil
	}
	all, err := rawjson.Elements(o.Object("notifications").Get("taskIds"), rawjson.Lenient)
	if err != nil {
		return nil
	}
	var ids []string
	for _, raw := range all {
		if id, ok := rawjson.String(raw); ok {
			ids = append(ids, id)
		}
	}
	return ids
}

// withoutSubscription returns the params of a notification without the id of the
// gateway's own subscription.
func withoutSubscription(params []byte) []byte {
	o, err := rawjson.ParseObject(params, rawjson.Lenient)
	if err != nil {
		return params
	}
	meta := o.Object("_meta")
	if meta == nil || !meta.Delete(metaSubscription) {
		return params
	}
	if meta.Len() == 0 {
		o.Delete("_meta")
	} else {
		o.Set("_meta", meta.Bytes())
	}
	return o.Bytes()
}

const metaSubscription = "io.modelcontextprotocol/subscriptionId"
