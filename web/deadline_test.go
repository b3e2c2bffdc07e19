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

func TestRequestDeadline(t *testing.T) {
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
	app.Get("/swallowed", web.Deadline(soon), func(c *fiber.Ctx) error { _ = until(c); return c.SendString("completed") })
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
		{Name: "hanging database", Path: "/hangs", Status: 503, WantHeader: late, WantBody: []string{`"code":"UNAVAILABLE"`, "exceeded its limit of 1ms"}, NotBody: []string{"rows"}},
		{Name: "hanging database in a browser", Path: "/hangs", Header: map[string]string{"Accept": "text/html"}, Status: 503, WantHeader: late, WantBody: []string{"exceeded its limit of 1ms"}},
		{Name: "plain error", Path: "/plain", Status: 503, WantHeader: late},
		{Name: "error ignored by the handler", Path: "/swallowed", Status: 200},
		{Name: "upstream timeout", Path: "/upstream", Status: 502, WantBody: []string{"UPSTREAM_TIMEOUT"}},
		{Name: "error before the deadline", Path: "/early", Status: 500, WantHeader: map[string]string{"Retry-After": ""}},
		{Name: "another deadline", Path: "/inner", Status: 500},
		{Name: "bounded otherwise", Path: "/lasting", Status: 200, WantJSON: `{"limited":false,"actor":"someone"}`},
	})
	if want := "read rows"; !strings.Contains(log.String(), want) {
		t.Errorf("log lacks %q", want)
	}
}
