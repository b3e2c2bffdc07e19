package web_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/fault"
	"mcpgateway/web"
	"mcpgateway/web/webtest"
)

type deadlineKey struct{}

func TestRequestsEndAtTheirDeadline(t *testing.T) {
	app, log := webtest.NewApp(t)
	const soon, never = time.Millisecond, time.Hour
	until := func(c *fiber.Ctx) error {
		<-c.UserContext().Done()
		return c.UserContext().Err()
	}
	act := func(c *fiber.Ctx) error { // as guards do
		c.SetUserContext(context.WithValue(c.UserContext(), deadlineKey{}, "someone"))
		return c.Next()
	}
	app.Get("/hangs", web.Deadline(soon), act, func(c *fiber.Ctx) error { return fault.Internal(fmt.Errorf("read rows: %w", until(c))) })
	app.Get("/plain", web.Deadline(soon), until)
	app.Get("/swallowed", web.Deadline(soon), func(c *fiber.Ctx) error { _ = until(c); return c.SendString("made without it") })
	app.Get("/upstream", web.Deadline(soon), func(c *fiber.Ctx) error {
		return fault.Upstream(fault.CodeUpstreamTimeout, "too slow").Because(until(c))
	})
	app.Get("/early", web.Deadline(never), func(*fiber.Ctx) error { return fault.Internal(errors.New("broken")) })
	app.Get("/inner", web.Deadline(never), func(*fiber.Ctx) error { return fault.Internal(context.DeadlineExceeded) })
	app.Get("/lasting", web.Deadline(soon), act, web.WithoutDeadline, func(c *fiber.Ctx) error {
		_, limited := c.UserContext().Deadline()
		return c.JSON(fiber.Map{"limited": limited, "actor": c.UserContext().Value(deadlineKey{})})
	})
	late := map[string]string{"Retry-After": "5"}
	webtest.Run(t, app, []webtest.Case{
		{Name: "a database that hangs", Path: "/hangs", Status: 503, WantHeader: late, WantBody: []string{`"code":"UNAVAILABLE"`, "longer than 1ms"}, NotBody: []string{"rows"}},
		{Name: "the same for a browser", Path: "/hangs", Header: map[string]string{"Accept": "text/html"}, Status: 503, WantHeader: late, WantBody: []string{"longer than 1ms"}},
		{Name: "an error that is no fault", Path: "/plain", Status: 503, WantHeader: late},
		{Name: "an answer all the same", Path: "/swallowed", Status: 200},
		{Name: "an upstream server that is late", Path: "/upstream", Status: 502, WantBody: []string{"UPSTREAM_TIMEOUT"}},
		{Name: "a failure in time", Path: "/early", Status: 500, WantHeader: map[string]string{"Retry-After": ""}},
		{Name: "the deadline of something else", Path: "/inner", Status: 500},
		{Name: "bounded otherwise", Path: "/lasting", Status: 200, WantJSON: `{"limited":false,"actor":"someone"}`},
	})
	if want := "read rows"; !strings.Contains(log.String(), want) {
		t.Errorf("the log does not say %q", want)
	}
}
