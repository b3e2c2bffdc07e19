package connections_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"mcpgateway/web/guard"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/routes/admin/connections"
	"mcpgateway/routes/frame"
	"mcpgateway/services/fault"
	"mcpgateway/services/oauthclient"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/web/webtest"
)

// connector returns fixed results and records its calls.
type connector struct {
	err     error
	revoked bool
	issuer  string
	calls   []string
}

func (f *connector) Start(_ context.Context, s oauthclient.Start) (string, error) {
	f.calls = append(f.calls, "start "+s.ServerID+" "+s.SessionID)
	return "https://as.example.com/authorize?x=1", f.err
}

func (f *connector) Disconnect(_ context.Context, id, _ string) (bool, error) {
	f.calls = append(f.calls, "disconnect "+id)
	return f.revoked, f.err
}

func (f *connector) Status(context.Context, string) (oauthclient.Status, error) {
	return oauthclient.Status{Issuer: f.issuer}, nil
}

func (f *connector) DropRegistration(_ context.Context, id string) error {
	f.calls = append(f.calls, "drop "+id)
	return f.err
}

// ownLink holds the headers of a browser that followed a link on an admin page.
var ownLink = map[string]string{"Sec-Fetch-Site": "same-origin", "Referer": "https://gateway.example.com/admin/connections"}

func TestConnectionsStartFromAdminPages(t *testing.T) {
	f := &connector{}
	h := connections.New(frame.NewPages(layout.Assets{}, nil, nil), f)
	app := fiber.New()
	csrf := "csrf"
	app.Get("/admin/connections/:id/start", func(c *fiber.Ctx) error {
		c.Locals("person", &guard.User{SessionID: "anns-session", CSRF: csrf})
		return h.Start(c)
	})
	start := func(path string, header map[string]string) webtest.Response {
		return webtest.Send(t, app, webtest.Case{Path: path, Header: header})
	}
	var button string
	for name, header := range map[string]map[string]string{
		"another site":              {"Sec-Fetch-Site": "cross-site", "Referer": "https://evil.example/admin"},
		"a site of the same domain": {"Sec-Fetch-Site": "same-site", "Referer": "https://wiki.example.com/admin"},
		"typed, or another program": {"Sec-Fetch-Site": "none"},
		"an old browser":            {"Referer": "https://gateway.example.com/admin"},
		"a browser without headers": {},
		"no referrer":               {"Sec-Fetch-Site": "same-origin"},
		"the sign-in page":          {"Sec-Fetch-Site": "same-origin", "Referer": "https://gateway.example.com/login?next=%2Fadmin"},
		"a public page":             {"Sec-Fetch-Site": "same-origin", "Referer": "https://gateway.example.com/registry"},
		"a broken referrer":         {"Sec-Fetch-Site": "same-origin", "Referer": "%zz/admin"},
	} {
		answer := start(paths.StartConnection("s1"), header)
		link := regexp.MustCompile(`href="(/admin/connections/s1/start\?token=[^"]+)"`).FindStringSubmatch(answer.Body)
		if answer.Status != 200 || answer.Header.Get("Location") != "" || link == nil || answer.Header.Get("Cache-Control") != "no-store" {
			t.Fatalf("%s: %d %v %s", name, answer.Status, answer.Header, answer.Body)
		}
		button = link[1]
	}
	for name, path := range map[string]string{
		"the form's token": paths.StartConnection("s1") + "?token=csrf", "no token": paths.StartConnection("s1") + "?token=",
		"another server's": strings.Replace(button, "/s1/", "/s2/", 1), "a part of it": button[:len(button)-1],
	} {
		if answer := start(path, nil); answer.Status != 200 {
			t.Errorf("%s: %d", name, answer.Status)
		}
	}
	if len(f.calls) > 0 {
		t.Fatalf("calls = %q, want none", f.calls)
	}
	if answer := start(button, nil); answer.Status != 303 || answer.Header.Get("Location") != "https://as.example.com/authorize?x=1" {
		t.Errorf("button: status = %d, header %v", answer.Status, answer.Header)
	}
	if answer := start(paths.StartConnection("s1"), ownLink); answer.Status != 303 {
		t.Errorf("link on an admin page: status = %d, want 303", answer.Status)
	}
	csrf = "another session's"
	if answer := start(button, nil); answer.Status != 200 {
		t.Errorf("button of another session: status = %d, want 200", answer.Status)
	}
	if len(f.calls) != 2 {
		t.Errorf("calls = %q, want 2", f.calls)
	}
}

func TestConnectionsStartAndDisconnect(t *testing.T) {
	down := fault.Upstream(fault.CodeUpstreamUnavailable, "the authorization server is down")
	for name, c := range map[string]struct {
		method, path string
		err          error
		signedIn     bool
		status       int
		to, call     string
	}{
		"start":            {"GET", paths.StartConnection("s1"), nil, true, 303, "https://as.example.com/authorize?x=1", "start s1 anns-session"},
		"start failing":    {"GET", paths.StartConnection("s1"), down, true, 303, "/admin/connections/s1", "start s1 anns-session"},
		"start signed out": {"GET", paths.StartConnection("s1"), nil, false, 401, "", ""},
		"unknown":          {"GET", paths.StartConnection("s1"), fault.NotFound("server", "s1"), true, 404, "", "start s1 anns-session"},
		"disconnect":       {"POST", "/admin/connections/s1/disconnect", nil, true, 303, "/admin/connections/s1", "disconnect s1"},
		"drop":             {"POST", "/admin/connections/s1/drop-registration", nil, true, 303, "/admin/connections/s1", "drop s1"},
		"drop nothing":     {"POST", "/admin/connections/s1/drop-registration", fault.Conflict("there is none"), true, 303, "/admin/connections/s1", "drop s1"},
	} {
		t.Run(name, func(t *testing.T) {
			f := &connector{err: c.err}
			h := connections.New(frame.NewPages(layout.Assets{}, nil, nil), f)
			app := fiber.New(fiber.Config{ErrorHandler: func(c *fiber.Ctx, err error) error {
				status := map[fault.Kind]int{fault.KindUnauthorized: 401, fault.KindNotFound: 404}[fault.From(err).Kind]
				return c.Status(max(status, 400)).SendString(err.Error())
			}})
			identify := func(ctx *fiber.Ctx) error {
				if c.signedIn {
					ctx.Locals("person", &guard.User{SessionID: "anns-session"})
				}
				return ctx.Next()
			}
			app.Get("/admin/connections/:id/start", identify, h.Start)
			app.Post("/admin/connections/:id/disconnect", identify, h.Disconnect)
			app.Post("/admin/connections/:id/drop-registration", identify, h.DropRegistration)
			answer := webtest.Send(t, app, webtest.Case{Method: c.method, Path: c.path, Header: ownLink})
			if answer.Status != c.status || answer.Header.Get("Location") != c.to {
				t.Errorf("status = %d, location %q", answer.Status, answer.Header.Get("Location"))
			}
			call := ""
			if len(f.calls) > 0 {
				call = f.calls[0]
			}
			if call != c.call || len(f.calls) > 1 {
				t.Errorf("calls = %q, want %q", f.calls, c.call)
			}
		})
	}
}

// A browser must not finish an authorization that another browser started.
func TestForeignAuthorizationRedirectsToList(t *testing.T) {
	app := fiber.New()
	h := connections.New(frame.NewPages(layout.Assets{}, nil, nil), &connector{})
	app.Get("/foreign", func(c *fiber.Ctx) error { return h.NotConnected(c, "s1", fault.Forbidden("another session")) })
	answer := webtest.Send(t, app, webtest.Case{Method: "GET", Path: "/foreign"})
	if answer.Status != 303 || answer.Header.Get("Location") != "/admin/connections" || answer.Header.Get("Set-Cookie") == "" {
		t.Errorf("status = %d, location %q", answer.Status, answer.Header.Get("Location"))
	}
}

func TestDisconnectNamesProvider(t *testing.T) {
	for _, tt := range []struct {
		issuer  string
		revoked bool
		want    string
	}{
		{"https://auth.figma.com/oauth", true, "Disconnected. Its tokens are revoked."},
		{"https://auth.figma.com/oauth", false, "Disconnected. auth.figma.com didn't confirm the revocation; remove the access there too."},
		{"", false, "Disconnected. The provider didn't confirm the revocation; remove the access there too."},
	} {
		app := fiber.New()
		h := connections.New(frame.NewPages(layout.Assets{}, nil, nil), &connector{revoked: tt.revoked, issuer: tt.issuer})
		app.Post("/admin/connections/:id/disconnect", h.Disconnect)
		answer := webtest.Send(t, app, webtest.Case{Method: "POST", Path: "/admin/connections/s1/disconnect"})
		if text := flashText(t, answer); text != tt.want {
			t.Errorf("issuer %q: message = %q, want %q", tt.issuer, text, tt.want)
		}
	}
}

// flashText returns the message of a response for the next page.
func flashText(t *testing.T, answer webtest.Response) string {
	t.Helper()
	value, _, _ := strings.Cut(strings.TrimPrefix(answer.Header.Get("Set-Cookie"), "flash="), ";")
	raw, err := base64.RawURLEncoding.DecodeString(value)
	if err != nil {
		t.Fatal(err)
	}
	var flash layout.Flash
	if err := json.Unmarshal(raw, &flash); err != nil {
		t.Fatal(err)
	}
	return flash.Text
}
