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

// ServeFloor serves a proxy on listener until ctx is done. The proxy forwards
// every POST request to the server at address without reading it. It uses the HTTP
// library of the gateway, so its overhead is a lower bound for any gateway. It
// connects with TLS if roots is not nil. ServeFloor calls ready with its URL.
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
	// A server that has not yet accepted from the listener ignores the shutdown.
	_ = listener.Close()
	if e := <-ended; err == nil {
		err = e
	}
	return err
}
