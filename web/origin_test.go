package web_test

import (
	"testing"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/web"
	"mcpgateway/web/webtest"
)

func TestAllowedHosts(t *testing.T) {
	hosts := []string{"Internal.example", "other.example:8443"}
	for _, tc := range []struct {
		host             string
		loopback, remote bool // served on a loopback listener; served on another listener
	}{
		{"gateway.example", true, true},
		{"gateway.example:443", true, true},
		{"gateway.example:9999", true, true},
		{"GATEWAY.example", true, true},
		{"gateway.example.", true, true},
		{"internal.example", true, true},
		{"other.example", true, true},
		{"localhost", true, false},
		{"localhost:8080", true, false},
		{"app.localhost", true, false},
		{"127.0.0.1", true, false},
		{"127.8.9.1:80", true, false},
		{"[::1]:8080", true, false},
		{"[::1]", true, false},
		{"10.0.0.1", false, false},
		{"evil.example", false, false},
		{"gateway.example.evil.example", false, false},
		{"evilgateway.example", false, false},
		{"localhost.evil.example", false, false},
		{"127.0.0.1.evil.example", false, false},
		{"0.0.0.0", false, false},
		{"gateway.example@evil.example", false, false},
	} {
		for _, loopback := range []bool{true, false} {
			app, _ := webtest.NewApp(t, func(o *web.Options) { o.Names = webtest.Names(t, "https://gateway.example", hosts, nil, loopback) })
			for _, path := range []string{"/page", "/healthz", "/readyz"} {
				app.Get(path, func(c *fiber.Ctx) error { return c.SendString("x") })
			}
			want := 403
			if loopback && tc.loopback || !loopback && tc.remote {
				want = 200
			}
			a := webtest.Send(t, app, webtest.Case{Path: "/page", Header: map[string]string{"Host": tc.host}})
			if a.Status != want && !(want == 403 && a.Status == 400) {
				t.Errorf("%s, loopback %v: %d %s", tc.host, loopback, a.Status, a.Body)
			}
			if want == 200 {
				continue
			}
			for _, probe := range []string{"/healthz", "/readyz"} {
				if a := webtest.Send(t, app, webtest.Case{Path: probe, Header: map[string]string{"Host": tc.host}}); a.Status != 200 && a.Status != 400 {
					t.Errorf("%s of %s: %d", probe, tc.host, a.Status)
				}
			}
		}
	}
}

func TestAllowedOrigins(t *testing.T) {
	for _, tc := range []struct {
		origin           string
		loopback, remote bool
	}{
		{"", true, true}, // not a browser
		{"https://gateway.example", true, true},
		{"https://gateway.example:443", true, true},
		{"HTTPS://Gateway.Example", true, true},
		{"https://app.example:8443", true, true},
		{"http://localhost", true, false},
		{"http://localhost:3000", true, false},
		{"http://127.0.0.1:6274", true, false},
		{"http://[::1]:1", true, false},
		{"https://localhost", false, false},
		{"http://gateway.example", false, false},
		{"https://gateway.example:8443", false, false},
		{"https://app.example", false, false},
		{"https://evil.example", false, false},
		{"https://gateway.example.evil.example", false, false},
		{"http://localhost.evil.example", false, false},
		{"null", false, false},
		{"file://", false, false},
		{"chrome-extension://abc", false, false},
		{"https://", false, false},
		{"%", false, false},
	} {
		for _, loopback := range []bool{true, false} {
			n := webtest.Names(t, "https://gateway.example", nil, []string{"https://App.example:8443"}, loopback)
			app, _ := webtest.NewApp(t)
			app.Get("/", func(c *fiber.Ctx) error { return n.CheckOrigin(c) })
			want := 403
			if loopback && tc.loopback || !loopback && tc.remote {
				want = 200
			}
			if a := webtest.Send(t, app, webtest.Case{Path: "/", Header: map[string]string{"Origin": tc.origin}}); a.Status != want {
				t.Errorf("%q, loopback %v: %d %s", tc.origin, loopback, a.Status, a.Body)
			}
		}
	}
}
