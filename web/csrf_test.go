package web_test

import (
	"net/url"
	"testing"

	"mcpgateway/web"
	"mcpgateway/web/webtest"
)

func TestCrossSiteRequestsAreRefused(t *testing.T) {
	app := guarded(t)
	for _, c := range []struct {
		name         string
		site, origin string
		token        string // of the header; "form:" begins one in the body
		passes       bool   // a guard that asks for the token
		signIn       bool   // one that cannot
	}{
		{"our page", "same-origin", "https://gateway.example", "csrf-of-admin", true, true},
		{"our page, in a form", "same-origin", "https://gateway.example", "form:csrf-of-admin", true, true},
		{"the address bar", "none", "", "csrf-of-admin", true, true},
		{"our page without fetch metadata", "", "https://gateway.example", "csrf-of-admin", true, true},
		{"our page with the default port", "", "https://gateway.example:443", "csrf-of-admin", true, true},
		{"our page under a local name", "same-origin", "http://localhost:8080", "csrf-of-admin", true, true},
		{"no token", "same-origin", "https://gateway.example", "", false, true},
		{"an empty token in a form", "same-origin", "https://gateway.example", "form:", false, true},
		{"somebody else's token", "same-origin", "https://gateway.example", "csrf-of-viewer", false, true},
		{"half a token", "same-origin", "https://gateway.example", "csrf-of-adm", false, true},
		{"another site", "cross-site", "https://evil.example", "csrf-of-admin", false, false},
		{"another site that lies about its origin", "cross-site", "https://gateway.example", "csrf-of-admin", false, false},
		{"a sibling", "same-site", "https://other.gateway.example", "csrf-of-admin", false, false},
		{"another origin without fetch metadata", "", "https://evil.example", "csrf-of-admin", false, false},
		{"plain http", "", "http://gateway.example", "csrf-of-admin", false, false},
		{"another port", "", "https://gateway.example:8443", "csrf-of-admin", false, false},
		{"a sandboxed frame", "", "null", "csrf-of-admin", false, false},
		{"neither header", "", "", "csrf-of-admin", false, false},
		{"nonsense", "x", "https://gateway.example", "csrf-of-admin", false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			header := map[string]string{"Cookie": "__Host-sid=admin", "Sec-Fetch-Site": c.site, "Origin": c.origin, "Content-Type": "application/x-www-form-urlencoded"}
			body := "x=1"
			if field, inForm := cutForm(c.token); inForm {
				body += "&" + web.CSRFField + "=" + url.QueryEscape(field)
			} else {
				header[web.CSRFHeader] = c.token
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

func TestATokenInTheAddressDoesNotCount(t *testing.T) {
	webtest.Run(t, guarded(t), []webtest.Case{
		{Name: "query", Method: "POST", Path: "/admin?csrf=csrf-of-admin", Header: map[string]string{"Cookie": "__Host-sid=admin", "Sec-Fetch-Site": "same-origin"}, Status: 403},
		{Name: "JSON body", Path: "/admin", Body: `{"csrf":"csrf-of-admin"}`, Header: map[string]string{"Cookie": "__Host-sid=admin", "Sec-Fetch-Site": "same-origin"}, Status: 403},
	})
}
