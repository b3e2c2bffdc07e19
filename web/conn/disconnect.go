package conn

import (
	"net"
	"sync"
	"syscall"
	"time"

	"mcpgateway/web"

	"github.com/gofiber/fiber/v2"
)

// watchAfter is the time after which the connection of a request is watched.
// Most requests end before that, and each watch costs a goroutine.
const watchAfter = 5 * time.Millisecond

// WatchDisconnect calls gone, once and from another goroutine, within
// milliseconds after the client closed its end of the connection. Without it,
// the server only notices when a write fails. It doesn't consume data, so the
// connection can serve further requests after stop. stop must be called before
// the server reads from the connection again; gone is not called after stop has
// returned. On connections and systems that can't be watched gone is never
// called.
func WatchDisconnect(c *fiber.Ctx, gone func()) (stop func()) {
	w := &disconnectWatch{conn: c.Context().Conn(), ended: make(chan struct{})}
	w.begin = time.AfterFunc(watchAfter, web.EventOf(c).Background.Func("disconnect watch", func() { w.run(gone) }))
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
	// Read waits until the connection is readable and calls the function again
	// while it returns false. It fails at the deadline that stop sets.
	if raw.Read(isClosedByPeer) == nil {
		gone()
	}
}

// waitWithoutDeadline removes the read deadline, which would end the watch, and
// reports whether the watch is still active.
func (w *disconnectWatch) waitWithoutDeadline() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.stopped && w.conn.SetReadDeadline(time.Time{}) == nil
}

func (w *disconnectWatch) stop() {
	if w.begin.Stop() {
		return // it never started
	}
	w.mu.Lock()
	w.stopped = true
	_ = w.conn.SetReadDeadline(time.Unix(1, 0)) // fails only on a closed connection, whose watch has ended
	w.mu.Unlock()
	<-w.ended
	_ = w.conn.SetReadDeadline(time.Time{})
}
