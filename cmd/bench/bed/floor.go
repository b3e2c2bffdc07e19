package bed

import (
	"context"
	"net"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"
)

// ServeFloor serves a proxy on listener until ctx ends. It hands every POST to
// the server at address unread, with the library that the gateway stands on:
// what it adds to a call is the least that any gateway could. It calls ready
// with its own URL.
func ServeFloor(ctx context.Context, listener net.Listener, address string, ready func(url string)) error {
	upstream := &fasthttp.HostClient{Addr: address, MaxConns: 4096, MaxIdleConnDuration: time.Minute}
	app := fiber.New(fiber.Config{DisableStartupMessage: true})
	app.Post("/*", func(c *fiber.Ctx) error { return upstream.Do(c.Request(), c.Response()) })
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
