package admin_test

import (
	"testing"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/routes/admin"
	"mcpgateway/services/fault"
	"mcpgateway/views/layout"
	"mcpgateway/web/guard"
	"mcpgateway/web/webtest"
)

// counter is how many servers wait.
type counter int

func (n counter) Count() int { return int(n) }

func TestABannerCountsTheServersThatWait(t *testing.T) {
	for _, c := range []struct {
		n    counter
		role string
		says string
	}{
		{0, guard.RoleAdmin, ""}, {1, guard.RoleMember, ""},
		{1, guard.RoleAdmin, "1 server waits for an administrator to connect it."},
		{2, guard.RoleViewer, "2 servers wait for an administrator to connect them."},
	} {
		got := ""
		for _, b := range admin.Banners(c.n)(t.Context(), c.role) {
			got += b.Text
		}
		if got != c.says {
			t.Errorf("%d for a %s: %q, want %q", c.n, c.role, got, c.says)
		}
	}
}

// TestAForeignAuthorizationLeadsToTheList is what a browser is shown that may
// not finish what another began.
func TestAForeignAuthorizationLeadsToTheList(t *testing.T) {
	app := fiber.New()
	h := admin.NewConnections(admin.NewPages(layout.Assets{}, nil), &connector{})
	app.Get("/foreign", func(c *fiber.Ctx) error { return h.NotConnected(c, "s1", fault.Forbidden("another session")) })
	answer := webtest.Send(t, app, webtest.Case{Method: "GET", Path: "/foreign"})
	if answer.Status != 303 || answer.Header.Get("Location") != "/admin/connections" || answer.Header.Get("Set-Cookie") == "" {
		t.Errorf("got %d to %q", answer.Status, answer.Header.Get("Location"))
	}
}
