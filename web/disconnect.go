package web

import (
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/gofiber/fiber/v2"
)

// WatchDisconnect calls gone, once and from another goroutine, as soon as the
// request's client closes its end of the connection: the server itself would
// notice at a failing write only. It takes nothing from the connection, which
// serves further requests after stop. stop must be called before the server
// reads from the connection again; gone is not called after stop returned. On
// connections and systems that cannot be watched gone is never called.
func WatchDisconnect(c *fiber.Ctx, gone func()) (stop func()) {
	conn := c.Context().Conn()
	watched, ok := conn.(syscall.Conn)
	if !ok {
		return func() {}
	}
	raw, err := watched.SyscallConn()
	if err != nil {
		return func() {}
	}
	// The deadline of reading the request would end the watch.
	if err := conn.SetReadDeadline(time.Time{}); err != nil {
		return func() {}
	}
	w := &disconnectWatch{conn: conn, ended: make(chan struct{})}
	go w.run(raw, gone)
	return sync.OnceFunc(w.stop)
}

type disconnectWatch struct {
	conn  net.Conn
	ended chan struct{}
}

func (w *disconnectWatch) run(raw syscall.RawConn, gone func()) {
	defer close(w.ended)
	// Read waits until the connection is readable and asks again as long as
	// the answer is no; it fails at the deadline that stop sets.
	if raw.Read(isClosedByPeer) == nil {
		gone()
	}
}

func (w *disconnectWatch) stop() {
	_ = w.conn.SetReadDeadline(time.Unix(1, 0)) // fails on a closed connection, whose watch has ended
	<-w.ended
	_ = w.conn.SetReadDeadline(time.Time{})
}
