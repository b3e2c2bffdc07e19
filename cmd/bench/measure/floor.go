package measure

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"
)

// ServeFloor serves a proxy on listener until ctx ends. It hands every POST to
// the server at address unread, with the library that the gateway stands on:
// what it adds to a call is the least that any gateway could. It connects by TLS
// if there are roots, and calls ready with its own URL.
func ServeFloor(ctx context.Context, listener net.Listener, address string, roots *x509.CertPool, ready func(url string)) error {
	upstream := &fasthttp.HostClient{Addr: address, MaxConns: 4096, MaxIdleConnDuration: time.Minute}
	if roots != nil {
		upstream.IsTLS, upstream.TLSConfig = true, &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	}
	app := fiber.New(fiber.Config{DisableStartupMessage: true})
	app.Post("/*", func(c *fiber.Ctx) error {
		if upstream.IsTLS {
			c.Request().URI().SetScheme("https")
		}
		return upstream.Do(c.Request(), c.Response())
	})
	ended := make(chan error, 1)
	go func() { ended <- app.Listener(listener) }()
	ready("http://" + listener.Addr().String())
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	upstream.CloseIdleConnections()
	err := app.ShutdownWithTimeout(time.Second)
	// A server that had not yet begun with the listener does not know that it
	// was shut down.
	_ = listener.Close()
	if e := <-ended; err == nil {
		err = e
	}
	return err
}
