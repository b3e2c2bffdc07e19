package dial

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/fasthttp/websocket"

	"mcpgateway/services/runners/socket"
	"mcpgateway/services/runners/wire"
)

// Times of an attempt.
const (
	handshakeTime = 15 * time.Second
	helloTime     = 10 * time.Second
)

// errConnected is the outcome of an attempt that reached a replica with a
// connection.
var errConnected = errors.New("already connected to this replica")

// attempt connects to a replica. It serves the connection in the background.
func (d *Dialer) attempt(ctx context.Context, handler http.Handler, serving *sync.WaitGroup) {
	conn, replica, err := d.connect(ctx)
	if err != nil {
		if ctx.Err() == nil {
			d.failed(err)
		}
		return
	}
	began := time.Now()
	d.o.Log.Info("connected to the gateway", "url", d.o.URL, "replica", replica)
	serving.Go(d.o.Tasks.Func("connection to a gateway", func() {
		defer d.lost(ctx, replica, conn, began)
		wire.Serve(ctx, conn, handler, d.o.Tasks)
	}))
}

// connect returns a connection to a replica that has none yet.
func (d *Dialer) connect(ctx context.Context) (conn *socket.Conn, replica string, err error) {
	conn, err = d.open(ctx)
	if err != nil {
		return nil, "", err
	}
	stop := context.AfterFunc(ctx, d.o.Tasks.Func("end of a handshake", func() { _ = conn.Close() }))
	defer stop()
	var hello socket.Hello
	text, err := conn.ReceiveText(helloTime)
	if err == nil {
		err = json.Unmarshal(text, &hello)
	}
	switch {
	case err != nil && conn.Reason() != nil:
		err = conn.Reason()
	case err != nil || hello.Replica == "":
		err = errNotGateway("its first message is not valid")
	case hello.Version != wire.Version:
		err = problem(fmt.Sprintf("the gateway uses version %d of the protocol, and this runner version %d: use the same release for both", hello.Version, wire.Version))
	default:
		err = d.enter(hello, conn)
	}
	if err == nil {
		err = conn.SendText(socket.Accept{Version: wire.Version, Prefix: d.o.Prefix})
	}
	if err != nil {
		_ = conn.Close()
		d.leave(hello.Replica, conn)
		return nil, "", err
	}
	return conn, hello.Replica, nil
}

// open opens a WebSocket.
func (d *Dialer) open(ctx context.Context) (*socket.Conn, error) {
	dialer := websocket.Dialer{
		Proxy: d.o.Proxy, HandshakeTimeout: handshakeTime, Subprotocols: []string{socket.Subprotocol},
		ReadBufferSize: socket.BufferSize, WriteBufferSize: socket.BufferSize,
	}
	ws, response, err := dialer.DialContext(ctx, d.address, http.Header{"Authorization": {"Bearer " + d.o.Token.Reveal()}})
	if response != nil {
		defer func() { _ = response.Body.Close() }()
	}
	if err != nil {
		return nil, explain(response, err)
	}
	if ws.Subprotocol() != socket.Subprotocol {
		_ = ws.Close()
		return nil, errNotGateway("it does not know " + socket.Subprotocol)
	}
	return socket.New(ws, socket.Options{Tasks: d.o.Tasks, Text: d.notice}), nil
}

// enter registers a connection. It returns errConnected if the replica has one.
func (d *Dialer) enter(hello socket.Hello, conn *socket.Conn) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.live = hello.Replicas[:min(len(hello.Replicas), maxReplicas)]
	if d.links[hello.Replica] != nil {
		return errConnected
	}
	d.links[hello.Replica] = conn
	d.logged = ""
	return nil
}

// leave removes a connection, if it is the one of the replica.
func (d *Dialer) leave(replica string, conn *socket.Conn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.links[replica] == conn {
		delete(d.links, replica)
	}
}

// lost removes a connection that has ended, and decides how long to wait.
func (d *Dialer) lost(ctx context.Context, replica string, conn *socket.Conn, began time.Time) {
	_ = conn.Close()
	d.leave(replica, conn)
	defer d.wake()
	if ctx.Err() != nil {
		return
	}
	reason := conn.Reason()
	d.mu.Lock()
	switch {
	case reason != nil && (reason.Code == socket.CodeReplaced || reason.Code == socket.CodeRevoked || reason.Code == socket.CodeRefused):
		d.failures = slowest
	case time.Since(began) >= d.pause(d.failures+1):
		d.failures = 0
	default:
		d.failures++
	}
	d.mu.Unlock()
	text := "the connection was lost"
	if reason != nil && reason.Text != "" {
		text = reason.Text
	}
	d.o.Log.Warn("disconnected from the gateway", "url", d.o.URL, "replica", replica, "reason", text)
}

// failed counts an attempt without a connection. It logs a problem once until
// another one, or a connection, follows.
func (d *Dialer) failed(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.failures++
	if errors.Is(err, errConnected) {
		return // another attempt may reach another replica
	}
	var said problem
	var closed *socket.Closed
	if errors.As(err, &said) || errors.As(err, &closed) && closed.Code != socket.CodeLeaving {
		d.failures = slowest // another attempt will fail in the same way
	}
	if text := err.Error(); text != d.logged {
		d.logged = text
		d.o.Log.Warn("not connected to the gateway", "url", d.o.URL, "error", text)
	}
}

// slowest is the number of failures with the longest delay.
const slowest = 30

// delay returns the time between the last attempt and the next one, ±20 %.
func (d *Dialer) delay() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return time.Duration(float64(d.pause(d.failures)) * (0.8 + 0.4*rand.Float64())) //nolint:gosec // not a secret
}

// pause returns the mean delay after a number of failures.
func (d *Dialer) pause(failures int) time.Duration {
	switch {
	case failures == 0:
		return 0
	case failures >= slowest:
		return d.o.MaxDelay
	}
	return min(d.o.MinDelay<<(failures-1), d.o.MaxDelay)
}

// notice handles a later message of the gateway.
func (d *Dialer) notice(text []byte) {
	var n socket.Notice
	if json.Unmarshal(text, &n) != nil {
		return
	}
	d.mu.Lock()
	if n.Replicas != nil {
		d.live = n.Replicas[:min(len(n.Replicas), maxReplicas)]
	}
	if n.Refused != nil {
		for name, why := range *n.Refused {
			if d.refused[name] != why {
				d.o.Log.Warn("server refused by the gateway", "name", name, "reason", why)
			}
		}
		d.refused = *n.Refused
	}
	d.mu.Unlock()
	d.wake()
}

// wake ends a wait for changes.
func (d *Dialer) wake() {
	select {
	case d.changed <- struct{}{}:
	default:
	}
}

// problem is the reason that each attempt will fail, until a person acts.
type problem string

// Error returns the problem.
func (p problem) Error() string { return string(p) }

func errNotGateway(why string) error {
	return problem("this is not a gateway that accepts connectors: " + why + "; check the URL of --connect")
}

// explain returns the error of a failed handshake for people.
func explain(response *http.Response, err error) error {
	if response == nil || !errors.Is(err, websocket.ErrBadHandshake) {
		return err
	}
	raw, _ := io.ReadAll(response.Body) // its beginning, as the library has read it
	var said struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	if json.Unmarshal(raw, &said) == nil && said.Code != "" && said.Message != "" {
		if response.StatusCode >= http.StatusInternalServerError {
			return errors.New(said.Message)
		}
		return problem(said.Message)
	}
	switch status := response.StatusCode; {
	case status == http.StatusProxyAuthRequired:
		return problem("the proxy wants a user name and a password (HTTP 407)")
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return problem(fmt.Sprintf("a proxy or another server refused the connection (HTTP %d)", status))
	case status == http.StatusBadRequest || status == http.StatusUpgradeRequired || status == http.StatusNotImplemented || status == http.StatusOK:
		return problem(fmt.Sprintf("a proxy on the way does not pass WebSocket, or this is not a gateway (HTTP %d)", status))
	case status >= http.StatusInternalServerError:
		return fmt.Errorf("the gateway is not available (HTTP %d)", status)
	default:
		return errNotGateway(fmt.Sprintf("it responded with HTTP %d", status))
	}
}
