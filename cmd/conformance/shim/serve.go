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

// headerTimeout limits the time to read a request's header.
const headerTimeout = 10 * time.Second

// Serve serves p on listener until ctx is done. Then it closes the listener and
// all connections and returns nil.
func Serve(ctx context.Context, listener net.Listener, p *Proxy) error {
	server := &http.Server{
		Handler:           p,
		ReadHeaderTimeout: headerTimeout,
		ErrorLog:          log.New(io.Discard, "", 0), // truncated responses are expected
	}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() }) // don't wait: streams don't end on their own
	defer stop()
	defer p.Close()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
