package routes_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"mcpgateway/models"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/upstream/upstreamtest"
	"mcpgateway/web/webtest"
)

// appUpstream returns a server with the tool show, whose app is the document, and
// the tool plain, whose app has another type.
func appUpstream(document string) *upstreamtest.Server {
	read := func(_ context.Context, c *upstreamtest.Call) upstreamtest.Result {
		kind := "text/html;profile=mcp-app"
		if strings.Contains(string(c.Params), "plain") {
			kind = "text/html"
		}
		return upstreamtest.JSON(fmt.Sprintf(`{"contents":[{"uri":"ui://a/view.html","mimeType":%q,"text":%q}]}`, kind, document))
	}
	list := func(context.Context, *upstreamtest.Call) upstreamtest.Result {
		return upstreamtest.JSON(`{"resources":[{"uri":"ui://a/view.html","name":"view","_meta":{"ui":{"csp":{"connectDomains":["https://api.example.com","http://127.0.0.1:8080"]}}}}]}`)
	}
	return upstreamtest.New(upstreamtest.Options{
		Answer: upstreamtest.AnswerJSON, Capabilities: `{"tools":{},"resources":{}}`,
		Methods: map[string]upstreamtest.Handler{"resources/read": read, "resources/list": list},
		Tools: []upstreamtest.Tool{
			{Definition: `{"name":"show","inputSchema":{"type":"object"},"_meta":{"ui":{"resourceUri":"ui://a/view.html"}}}`},
			{Definition: `{"name":"plain","inputSchema":{"type":"object"},"_meta":{"ui":{"resourceUri":"ui://plain/view.html"}}}`},
			{Definition: `{"name":"none","inputSchema":{"type":"object"}}`},
		},
	})
}

// appPreview is an application with two servers that have the same tools and the
// same URI, but different apps.
type appPreview struct {
	*routestest.Admin
	one *upstreamtest.Server
}

func newAppPreview(t *testing.T) *appPreview {
	t.Helper()
	a := &appPreview{Admin: routestest.NewAdmin(t), one: appUpstream("<h1>one & zebra</h1>")}
	a.Apply(t, fmt.Sprintf(`{"projects":{"p":{"mcpServers":{"one":{"url":%q},"two":{"url":%q}}}}}`, a.one.Start(t), appUpstream("<h1>two</h1>").Start(t)))
	a.Sync(t, "p", "one", "two")
	return a
}

// get requests a page of a tool as a signed-in user.
func (a *appPreview) get(t *testing.T, as *routestest.Admin, path string, header ...string) webtest.Response {
	t.Helper()
	c := webtest.Case{Path: "/admin/projects/p/tools/" + path, Header: map[string]string{"Host": "127.0.0.1:8080"}}
	if as != nil {
		c.Header["Cookie"] = "sid=" + as.Cookie
	}
	for i := 0; i < len(header); i += 2 {
		c.Header[header[i]] = header[i+1]
	}
	return webtest.Send(t, a.App.App, c)
}

func TestAppPreview(t *testing.T) {
	a := newAppPreview(t)
	const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; base-uri 'none'; "
	const rest = "object-src 'none'; frame-ancestors 'none'; form-action 'self'"
	webtest.Check(t, webtest.Case{
		Status: 200, WantHeader: map[string]string{"Content-Security-Policy": pagePolicy + "frame-src 'self'; " + rest},
		WantBody: []string{`sandbox="allow-scripts"`, `src="/admin/projects/p/tools/one__show/app/frame"`, "https://api.example.com", "http://127.0.0.1:8080"}, NotBody: []string{"zebra", "allow-same-origin"},
	}, a.get(t, a.Admin, "one__show/app"))
	webtest.Check(t, webtest.Case{
		Status: 200, WantHeader: map[string]string{"Content-Security-Policy": pagePolicy + rest}, WantBody: []string{`href="/admin/projects/p/tools/one__show/app"`}, NotBody: []string{"<iframe"},
	}, a.get(t, a.Admin, "one__show"))
	webtest.Check(t, webtest.Case{Status: 200, NotBody: []string{"Preview app"}}, a.get(t, a.Admin, "one__none"))

	frame := a.get(t, a.Admin, "one__show/app/frame", "Sec-Fetch-Dest", "iframe")
	webtest.Check(t, webtest.Case{Status: 200, WantHeader: map[string]string{
		"Content-Security-Policy": "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; font-src data:; media-src data: blob:; " +
			"connect-src https://api.example.com; frame-src 'none'; base-uri 'none'; object-src 'none'; form-action 'none'; frame-ancestors 'self'",
		"Content-Type": "text/html; charset=utf-8", "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff", "Set-Cookie": "",
	}}, frame)
	if frame.Body != "<h1>one & zebra</h1>" || !strings.Contains(frame.Header.Get("Cache-Control"), "no-store") {
		t.Errorf("the document is %q, Cache-Control %q", frame.Body, frame.Header.Get("Cache-Control"))
	}
	if got := a.get(t, a.Admin, "two__show/app/frame"); got.Body != "<h1>two</h1>" {
		t.Errorf("the other server's document is %q", got.Body)
	}
	opened := a.get(t, a.Admin, "one__show/app/frame", "Sec-Fetch-Dest", "document")
	webtest.Check(t, webtest.Case{Status: 303, WantHeader: map[string]string{"Location": "/admin/projects/p/tools/one__show/app"}}, opened)
}

func TestAppPreviewFaults(t *testing.T) {
	a := newAppPreview(t)
	for path, want := range map[string]webtest.Case{
		"one__plain/app":       {Status: 502, WantBody: []string{"The resource is not an app", "text/html", "UPSTREAM_INVALID_RESPONSE"}, NotBody: []string{"<iframe", "zebra"}},
		"one__plain/app/frame": {Status: 502, NotBody: []string{"zebra"}},
		"one__none/app":        {Status: 404, WantBody: []string{"Tool one__none has no app."}, NotBody: []string{"<iframe"}},
		"one__none/app/frame":  {Status: 404},
		"one__never/app":       {Status: 404},
		"one__never/app/frame": {Status: 404},
	} {
		t.Run(path, func(t *testing.T) { webtest.Check(t, want, a.get(t, a.Admin, path)) })
	}
	viewer, _ := a.Join(t, "vera@example.com", "Vera", models.RoleViewer)
	for _, path := range []string{"one__show/app", "one__show/app/frame"} {
		if got := a.get(t, viewer, path); got.Status != 403 || strings.Contains(got.Body, "zebra") {
			t.Errorf("a viewer gets %d from %s", got.Status, path)
		}
		if got := a.get(t, nil, path); got.Status != 303 && got.Status != 401 || strings.Contains(got.Body, "zebra") {
			t.Errorf("without a session: %d from %s", got.Status, path)
		}
	}
	read := len(a.one.Requests("resources/read"))
	a.Apply(t, `{"projects":{"p":{"disabledTools":["one__show"]}}}`)
	for _, path := range []string{"one__show/app", "one__show/app/frame"} {
		if got := a.get(t, a.Admin, path); got.Status < 400 || strings.Contains(got.Body, "<iframe") || strings.Contains(got.Body, "zebra") {
			t.Errorf("a disabled tool: %d from %s", got.Status, path)
		}
	}
	if n := len(a.one.Requests("resources/read")); n != read {
		t.Errorf("%d reads for a disabled tool", n-read)
	}
}
