package admin_test

import (
	"context"
	"testing"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/routes/admin"
	"mcpgateway/services/fault"
	"mcpgateway/services/oauthclient"
	"mcpgateway/web"
	"mcpgateway/web/webtest"
)

// connector answers as told and keeps what was asked of it.
type connector struct {
	err     error
	revoked bool
	asked   []string
}

func (f *connector) Start(_ context.Context, s oauthclient.Start) (string, error) {
	f.asked = append(f.asked, "start "+s.ServerID+" "+s.SessionID)
	return "https://as.example.com/authorize?x=1", f.err
}

func (f *connector) Disconnect(_ context.Context, id string) (bool, error) {
	f.asked = append(f.asked, "disconnect "+id)
	return f.revoked, f.err
}

func (f *connector) DropRegistration(_ context.Context, id string) error {
	f.asked = append(f.asked, "drop "+id)
	return f.err
}

func TestConnectionsAreBegunAndEnded(t *testing.T) {
	down := fault.Upstream(fault.CodeUpstreamUnavailable, "the authorization server is away")
	for name, c := range map[string]struct {
		method, path string
		err          error
		signedIn     bool
		status       int
		to, asked    string
	}{
		"start":         {"GET", admin.StartConnectionPath("s1"), nil, true, 303, "https://as.example.com/authorize?x=1", "start s1 anns-session"},
		"start failing": {"GET", admin.StartConnectionPath("s1"), down, true, 303, "/admin/connections/s1", "start s1 anns-session"},
		"start by none": {"GET", admin.StartConnectionPath("s1"), nil, false, 401, "", ""},
		"unknown":       {"GET", admin.StartConnectionPath("s1"), fault.NotFound("server", "s1"), true, 404, "", "start s1 anns-session"},
		"disconnect":    {"POST", "/admin/connections/s1/disconnect", nil, true, 303, "/admin/connections/s1", "disconnect s1"},
		"drop":          {"POST", "/admin/connections/s1/drop-registration", nil, true, 303, "/admin/connections/s1", "drop s1"},
		"drop nothing":  {"POST", "/admin/connections/s1/drop-registration", fault.Conflict("there is none"), true, 303, "/admin/connections/s1", "drop s1"},
	} {
		t.Run(name, func(t *testing.T) {
			f := &connector{err: c.err}
			h := admin.NewConnections(f)
			app := fiber.New(fiber.Config{ErrorHandler: func(c *fiber.Ctx, err error) error {
				status := map[fault.Kind]int{fault.KindUnauthorized: 401, fault.KindNotFound: 404}[fault.From(err).Kind]
				return c.Status(max(status, 400)).SendString(err.Error())
			}})
			know := func(ctx *fiber.Ctx) error {
				if c.signedIn {
					ctx.Locals("person", &web.Person{SessionID: "anns-session"})
				}
				return ctx.Next()
			}
			app.Get("/admin/connections/:id/start", know, h.Start)
			app.Post("/admin/connections/:id/disconnect", know, h.Disconnect)
			app.Post("/admin/connections/:id/drop-registration", know, h.DropRegistration)
			answer := webtest.Send(t, app, webtest.Case{Method: c.method, Path: c.path})
			if answer.Status != c.status || answer.Header.Get("Location") != c.to {
				t.Errorf("got %d to %q", answer.Status, answer.Header.Get("Location"))
			}
			asked := ""
			if len(f.asked) > 0 {
				asked = f.asked[0]
			}
			if asked != c.asked || len(f.asked) > 1 {
				t.Errorf("asked %q", f.asked)
			}
		})
	}
}
