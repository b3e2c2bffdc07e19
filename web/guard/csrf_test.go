package guard_test

import (
	"encoding/base64"
	"net/url"
	"strings"
	"testing"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/web/guard"
	"mcpgateway/web/webtest"
)

func TestCrossSiteRequestsRejected(t *testing.T) {
	app := guarded(t)
	for _, c := range []struct {
		name         string
		site, origin string
		token        string // in the header; a prefix "form:" puts it in the body
		passes       bool   // accepted by a guard that checks the token
		signIn       bool   // accepted by a guard without a token
	}{
		{"our page", "same-origin", "https://gateway.example", "csrf-of-admin", true, true},
		{"our page, in a form", "same-origin", "https://gateway.example", "form:csrf-of-admin", true, true},
		{"address bar", "none", "", "csrf-of-admin", true, true},
		{"our page without fetch metadata", "", "https://gateway.example", "csrf-of-admin", true, true},
		{"our page with the default port", "", "https://gateway.example:443", "csrf-of-admin", true, true},
		{"our page under a local name", "same-origin", "http://localhost:8080", "csrf-of-admin", true, true},
		{"no token", "same-origin", "https://gateway.example", "", false, true},
		{"empty token in a form", "same-origin", "https://gateway.example", "form:", false, true},
		{"another user's token", "same-origin", "https://gateway.example", "csrf-of-viewer", false, true},
		{"half a token", "same-origin", "https://gateway.example", "csrf-of-adm", false, true},
		{"another site", "cross-site", "https://evil.example", "csrf-of-admin", false, false},
		{"another site with a forged origin", "cross-site", "https://gateway.example", "csrf-of-admin", false, false},
		{"sibling", "same-site", "https://other.gateway.example", "csrf-of-admin", false, false},
		{"another origin without fetch metadata", "", "https://evil.example", "csrf-of-admin", false, false},
		{"plain http", "", "http://gateway.example", "csrf-of-admin", false, false},
		{"another port", "", "https://gateway.example:8443", "csrf-of-admin", false, false},
		{"sandboxed frame", "", "null", "csrf-of-admin", false, false},
		{"neither header", "", "", "csrf-of-admin", false, false},
		{"nonsense", "x", "https://gateway.example", "csrf-of-admin", false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			header := map[string]string{"Cookie": "__Host-sid=admin", "Sec-Fetch-Site": c.site, "Origin": c.origin, "Content-Type": "application/x-www-form-urlencoded"}
			body := "x=1"
			if field, inForm := cutForm(c.token); inForm {
				body += "&" + guard.CSRFField + "=" + url.QueryEscape(guard.MaskToken(field))
			} else {
				header[guard.CSRFHeader] = guard.MaskToken(c.token)
			}
			status := func(passes bool) int {
				if passes {
					return 200
				}
				return 403
			}
			for _, method := range []string{"POST", "PUT", "PATCH", "DELETE", "OPTIONS"} {
				for _, path := range []string{"/admin", "/signed", "/viewer", "/api/admin", "/api/viewer", "/careful"} {
					webtest.Check(t, webtest.Case{Status: status(c.passes)}, webtest.Send(t, app, webtest.Case{Method: method, Path: path, Header: header, Body: body}))
				}
				webtest.Check(t, webtest.Case{Status: status(c.signIn)}, webtest.Send(t, app, webtest.Case{Method: method, Path: "/visitor", Header: header, Body: body}))
			}
			for _, method := range []string{"GET", "HEAD"} {
				webtest.Check(t, webtest.Case{Status: 200}, webtest.Send(t, app, webtest.Case{Method: method, Path: "/admin", Header: header}))
			}
		})
	}
}

func cutForm(token string) (string, bool) {
	const form = "form:"
	if len(token) < len(form) || token[:len(form)] != form {
		return "", false
	}
	return token[len(form):], true
}

func TestCSRFTokenInURLIgnored(t *testing.T) {
	webtest.Run(t, guarded(t), []webtest.Case{
		{Name: "query", Method: "POST", Path: "/admin?csrf=" + guard.MaskToken("csrf-of-admin"), Header: map[string]string{"Cookie": "__Host-sid=admin", "Sec-Fetch-Site": "same-origin"}, Status: 403},
		{Name: "JSON body", Path: "/admin", Body: `{"csrf":"` + guard.MaskToken("csrf-of-admin") + `"}`, Header: map[string]string{"Cookie": "__Host-sid=admin", "Sec-Fetch-Site": "same-origin"}, Status: 403},
	})
}

func TestMaskedTokens(t *testing.T) {
	const token = "csrf-of-admin"
	one, two := guard.MaskToken(token), guard.MaskToken(token)
	if one == two || strings.Contains(one+two, base64.RawURLEncoding.EncodeToString([]byte(token))) || len(one) != len(two) {
		t.Errorf("masks %q and %q", one, two)
	}
	if guard.MaskToken("") != "" {
		t.Error("MaskToken(\"\") is not empty")
	}
	tampered := func(at int) string {
		b, err := base64.RawURLEncoding.DecodeString(one)
		if err != nil {
			t.Fatal(err)
		}
		b[at] ^= 1
		return base64.RawURLEncoding.EncodeToString(b)
	}
	zeros := base64.RawURLEncoding.EncodeToString(append(make([]byte, len(token)), token...))
	app := guarded(t)
	for name, tc := range map[string]struct {
		given  string
		status int
	}{
		"one mask": {one, 200}, "another mask": {two, 200}, "the same mask again": {one, 200},
		"token itself": {token, 403}, "token itself in base64": {base64.RawURLEncoding.EncodeToString([]byte(token)), 403},
		"changed pad": {tampered(0), 403}, "changed token": {tampered(len(token)), 403}, "changed end": {tampered(2*len(token) - 1), 403},
		"shorter": {one[:len(one)-1], 403}, "longer": {one + "A", 403}, "padded": {one + "=", 403}, "twice": {one + one, 403},
		"only a pad": {one[:len(one)/2], 403}, "pad of zeros, which is a mask": {zeros, 200}, "another session's": {guard.MaskToken("csrf-of-viewer"), 403},
	} {
		t.Run(name, func(t *testing.T) {
			header := map[string]string{"Cookie": "__Host-sid=admin", "Sec-Fetch-Site": "same-origin", guard.CSRFHeader: tc.given}
			webtest.Check(t, webtest.Case{Status: tc.status}, webtest.Send(t, app, webtest.Case{Method: "POST", Path: "/admin", Header: header}))
			header = map[string]string{"Cookie": "__Host-sid=admin", "Sec-Fetch-Site": "same-origin", "Content-Type": "application/x-www-form-urlencoded"}
			body := url.Values{guard.CSRFField: {tc.given}}.Encode()
			webtest.Check(t, webtest.Case{Status: tc.status}, webtest.Send(t, app, webtest.Case{Method: "POST", Path: "/admin", Header: header, Body: body}))
		})
	}
}

func TestEveryOriginChecked(t *testing.T) {
	n := webtest.Names(t, "https://gateway.example", nil, nil, false)
	guards := newGuards(t, "https://gateway.example")
	app, _ := webtest.NewApp(t)
	app.Get("/mcp", n.CheckOrigin)
	app.Post("/page", append(guards.Visitor(), func(c *fiber.Ctx) error { return c.SendString("done") })...)
	addr := webtest.Serve(t, app)
	const own, evil = "Origin: https://gateway.example\r\n", "Origin: https://evil.example\r\n"
	for origins, want := range map[string]string{own: " 200 ", own + own: " 200 ", own + evil: " 403 ", evil + own: " 403 ", own + "Origin: null\r\n": " 403 "} {
		for _, request := range []string{"GET /mcp", "POST /page"} {
			answer := webtest.RoundTrip(t, addr, request+" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"+origins+"\r\n")
			if !strings.HasPrefix(answer, "HTTP/1.1"+want) {
				t.Errorf("%s with %q: %.60s", request, origins, answer)
			}
		}
	}
}
