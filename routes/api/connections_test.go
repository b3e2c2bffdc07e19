package api_test

import (
	"context"
	"net/url"
	"strings"
	"testing"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/routes/api"
	"mcpgateway/services/fault"
	"mcpgateway/services/oauthclient"
	"mcpgateway/web/webtest"
)

// connector has one server, s1.
type connector struct{ disconnected int }

func (c *connector) Status(_ context.Context, id string) (oauthclient.Status, error) {
	if id != "s1" {
		return oauthclient.Status{}, fault.NotFound("server", id)
	}
	return oauthclient.Status{ServerID: id}, nil
}

func (c *connector) Disconnect(_ context.Context, id, _ string) (bool, error) {
	if id != "s1" {
		return false, fault.NotFound("server", id)
	}
	c.disconnected++
	return true, nil
}

func TestConnectionURL(t *testing.T) {
	f := &connector{}
	h := api.NewConnections(f, &url.URL{Scheme: "https", Host: "gateway.example.com"}, func(id string) string { return "/admin/connections/" + id + "/start" })
	app := fiber.New(fiber.Config{ErrorHandler: func(c *fiber.Ctx, err error) error { return c.Status(404).SendString(err.Error()) }})
	app.Post("/api/servers/:id/connection", h.Create)
	app.Delete("/api/servers/:id/connection", h.Delete)
	for _, c := range []struct {
		method, id string
		status     int
		says       string
	}{
		{"POST", "s1", 200, `{"authorizeUrl":"https://gateway.example.com/admin/connections/s1/start"}`},
		{"POST", "s2", 404, "s2"},
		{"DELETE", "s2", 404, "s2"},
		{"DELETE", "s1", 204, ""},
	} {
		answer := webtest.Send(t, app, webtest.Case{Method: c.method, Path: "/api/servers/" + c.id + "/connection"})
		if answer.Status != c.status || !strings.Contains(answer.Body, c.says) {
			t.Errorf("%s %s: %d %s", c.method, c.id, answer.Status, answer.Body)
		}
	}
	if f.disconnected != 1 {
		t.Errorf("disconnected %d times", f.disconnected)
	}
}
