package conn

import (
	"net"
	"sync"
	"syscall"
	"time"

	"mcpgateway/web"

	"github.com/gofiber/fiber/v2"
)

// watchAfter is how long a request runs before its connection is watched. Most
// are over before, and each watch has a goroutine of its own.
const watchAfter = 5 * time.Millisecond

// WatchDisconnect calls gone, once and from another goroutine, within
// milliseconds after the request's client closed its end of the connection:
// the server itself would notice at a failing write only. It takes nothing from
// the connection, which serves further requests after stop. stop must be called
// before the server reads from the connection again; gone is not called after
// stop returned. On connections and systems that cannot be watched gone is
// never called.
func WatchDisconnect(c *fiber.Ctx, gone func()) (stop func()) {
	w := &disconnectWatch{conn: c.Context().Conn(), ended: make(chan struct{})}
	w.begin = time.AfterFunc(watchAfter, web.EventOf(c).Background.Func("watch of a client", func() { w.run(gone) }))
	return sync.OnceFunc(w.stop)
}

type disconnectWatch struct {
	conn  net.Conn
	begin *time.Timer
	ended chan struct{}

	mu      sync.Mutex
	stopped bool
}

func (w *disconnectWatch) run(gone func()) {
	defer close(w.ended)
	socket, ok := w.conn.(syscall.Conn)
	if !ok {
		return
	}
	raw, err := socket.SyscallConn()
	if err != nil || !w.waitWithoutDeadline() {
		return
	}
	// Read waits until the connection is readable and asks again as long as
	// the answer is no; it fails at the deadline that stop sets.
	if raw.Read(isClosedByPeer) == nil {
		gone()
	}
}

// waitWithoutDeadline removes the deadline of reading the request, which would
// end the watch, unless the watch was stopped.
func (w *disconnectWatch) waitWithoutDeadline() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.stopped && w.conn.SetReadDeadline(time.Time{}) == nil
}

func (w *disconnectWatch) stop() {
	if w.begin.Stop() {
		return // it never began
	}
	w.mu.Lock()
	w.stopped = true
	_ = w.conn.SetReadDeadline(time.Unix(1, 0)) // fails on a closed connection, whose watch has ended
	w.mu.Unlock()
	<-w.ended
	_ = w.conn.SetReadDeadline(time.Time{})
}
