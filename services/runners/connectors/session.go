package connectors

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/activity"
	"mcpgateway/services/runners"
	"mcpgateway/services/runners/socket"
	"mcpgateway/services/runners/wire"
)

// session is the connection of a connector.
type session struct {
	hub  *Hub
	row  models.Connector
	conn *socket.Conn
	done chan struct{} // closed when nothing of it is left

	wake chan struct{}

	mu     sync.Mutex
	notice socket.Notice // not sent yet
	why    string        // it was ended on this side
}

// Serve uses the connection of an authenticated connector until it ends. The
// runner must be the peer of conn, and from its address.
func (h *Hub) Serve(row models.Connector, from string, conn *socket.Conn) {
	h.mu.Lock()
	stopped := h.stopped
	if !stopped {
		h.running.Add(1)
	}
	h.mu.Unlock()
	defer conn.Release()
	if stopped {
		_ = conn.CloseWith(socket.CodeLeaving, "the gateway stops")
		return
	}
	defer h.running.Done()
	prefix, err := h.greet(conn)
	if said := refusal(""); errors.As(err, &said) {
		h.Log.Warn("connector refused", "connector", row.Name, "connector_id", row.ID, "reason", said.Error())
		_ = conn.CloseWith(socket.CodeRefused, said.Error())
	}
	if err != nil {
		return // the runner may be connected to this replica already
	}
	s := &session{hub: h, row: row, conn: conn, done: make(chan struct{}), wake: make(chan struct{}, 1)}
	defer close(s.done)
	before, ok := h.enter(s)
	defer h.leave(s)
	if !ok {
		_ = conn.CloseWith(socket.CodeLeaving, "the gateway stops")
		return
	}
	if before != nil {
		before.end(socket.CodeReplaced, "a newer connection uses this token")
		<-before.done
	}
	s.run(runners.Peer{Source: models.SourceConnector, ProjectID: row.ProjectID, ConnectorID: row.ID, Prefix: prefix}, from)
}

// refusal is the reason for the refusal of a runner.
type refusal string

// Error returns the reason.
func (r refusal) Error() string { return string(r) }

// greet sends the first message and returns the prefix from the runner's
// response. Its error is a refusal, or that of the connection.
func (h *Hub) greet(conn *socket.Conn) (prefix string, err error) {
	live, err := h.Replicas.Live(h.ctx)
	if err != nil {
		return "", refusal("the gateway's database is not available")
	}
	h.mu.Lock()
	if h.replicas == nil {
		h.replicas = live
	}
	h.mu.Unlock()
	if err := conn.SendText(socket.Hello{Version: wire.Version, Replica: h.Replicas.Replica(), Replicas: live}); err != nil {
		return "", err
	}
	text, err := conn.ReceiveText(acceptTime)
	if err != nil {
		return "", err
	}
	var accept socket.Accept
	if err := json.Unmarshal(text, &accept); err != nil {
		return "", refusal("the runner's first message is not valid")
	}
	if accept.Version != wire.Version {
		return "", refusal(fmt.Sprintf("the runner uses version %d of the protocol, and this gateway version %d", accept.Version, wire.Version))
	}
	if why := socket.CheckPrefix(accept.Prefix); why != "" {
		return "", refusal("the prefix of aliases is not valid: " + why)
	}
	return accept.Prefix, nil
}

// run records the connection and uses it until it ends.
func (s *session) run(peer runners.Peer, from string) {
	h, replica := s.hub, s.hub.Replicas.Replica()
	ctx := activity.WithActor(h.ctx, activity.Actor{Kind: activity.ActorClient, ID: s.row.ID, Name: "connector " + s.row.Name, IP: from})
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := h.Store.connected(ctx, s.row, replica, from); err != nil {
		s.end(socket.CodeRevoked, "the token was revoked or has expired")
		return
	}
	expiry := time.AfterFunc(s.row.ExpiresAt.Sub(h.Store.now()), h.Tasks.Func("end of an expired connector", func() {
		s.end(socket.CodeRevoked, "the token has expired")
	}))
	defer expiry.Stop()
	h.Log.Info("connector connected", "connector", s.row.Name, "connector_id", s.row.ID, "address", from)
	alive := make(chan struct{})
	h.Tasks.Go("connector pings", func() {
		defer close(alive)
		s.conn.KeepAlive(ctx, s.wake, s.send)
	})
	err := h.Attach(ctx, peer, s.conn)
	why := s.reason(err)
	_ = s.conn.Close()
	cancel()
	<-alive
	h.Log.Info("connector disconnected", "connector", s.row.Name, "connector_id", s.row.ID, "reason", why)
	s.forget(ctx, peer, replica, why)
}

// forget stores that the connection has ended.
func (s *session) forget(ctx context.Context, peer runners.Peer, replica, why string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTime)
	defer cancel()
	err := errors.Join(s.hub.Replicas.Gone(ctx, peer), s.hub.Store.disconnected(ctx, s.row, replica, why))
	if err != nil {
		s.hub.Log.Warn("end of a connector not recorded", "connector_id", s.row.ID, "error", err)
	}
}

// reason returns why a connection ended: as this side said, as the runner said,
// or as the user of the connection noticed.
func (s *session) reason(err error) string {
	s.mu.Lock()
	why := s.why
	s.mu.Unlock()
	if why == "" && s.conn.Reason() != nil {
		why = cmp.Or(s.conn.Reason().Text, "the runner closed the connection")
	}
	if why == "" && err != nil {
		why = err.Error()
	}
	return cmp.Or(why, "the connection was lost")
}

// end closes the connection and sends the reason to the runner, which takes up to 200 ms.
// Only the first reason counts.
func (s *session) end(code int, why string) {
	s.mu.Lock()
	if s.why == "" {
		s.why = why
	}
	s.mu.Unlock()
	_ = s.conn.CloseWith(code, why)
}

// queue sends a notice soon.
func (s *session) queue(n socket.Notice) {
	s.mu.Lock()
	if n.Replicas != nil {
		s.notice.Replicas = n.Replicas
	}
	if n.Refused != nil {
		s.notice.Refused = n.Refused
	}
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// send sends the notice, if there is one.
func (s *session) send() {
	s.mu.Lock()
	n := s.notice
	s.notice = socket.Notice{}
	s.mu.Unlock()
	if n.Replicas == nil && n.Refused == nil {
		return
	}
	_ = s.conn.SendText(n) // a connection that fails ends
}
