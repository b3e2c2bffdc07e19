package shim

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"time"
)

// headerTimeout bounds how long a client may take to send a request's header.
const headerTimeout = 10 * time.Second

// Serve answers the connections of listener with p until ctx ends, then cuts
// what is still open. It owns the listener. The error is nil when ctx ended
// it.
func Serve(ctx context.Context, listener net.Listener, p *Proxy) error {
	server := &http.Server{
		Handler:           p,
		ReadHeaderTimeout: headerTimeout,
		ErrorLog:          log.New(io.Discard, "", 0), // answers that break off are passed on as such
	}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() }) // streams have no end to wait for
	defer stop()
	defer p.Close()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
