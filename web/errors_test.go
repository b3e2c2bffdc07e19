package web_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/fault"
	"mcpgateway/web/webtest"
)

func TestFaultStatuses(t *testing.T) {
	app, _ := webtest.NewApp(t)
	var failure error
	app.All("/fail", func(*fiber.Ctx) error { return failure })
	cause := errors.New("password is hunter2")
	for _, tc := range []struct {
		err     error
		status  int
		code    fault.Code
		message string
	}{
		{fault.Invalid("no"), 400, fault.CodeInvalidParameter, "no"},
		{fault.Unauthorized(), 401, fault.CodeUnauthorized, "Valid credentials are required."},
		{fault.Forbidden("no"), 403, fault.CodeForbidden, "no"},
		{fault.NotFound("thing", "x"), 404, fault.CodeNotFound, `There is no thing "x".`},
		{fault.New(fault.KindUnknownMethod, fault.CodeNotFound, "no"), 404, fault.CodeNotFound, "no"},
		{fault.New(fault.KindMethodNotAllowed, fault.CodeMethodNotAllowed, "no"), 405, fault.CodeMethodNotAllowed, "no"},
		{fault.Conflict("no"), 409, fault.CodeConflict, "no"},
		{fault.New(fault.KindDisabled, fault.CodeToolDisabled, "no"), 409, fault.CodeToolDisabled, "no"},
		{fault.New(fault.KindTooLarge, fault.CodePayloadTooLarge, "no"), 413, fault.CodePayloadTooLarge, "no"},
		{fault.New(fault.KindUnsupportedMedia, fault.CodeUnsupportedMediaType, "no"), 415, fault.CodeUnsupportedMediaType, "no"},
		{fault.Validation(map[string]string{"a.b": "no"}), 422, fault.CodeValidationFailed, "a.b: no"},
		{fault.New(fault.KindRateLimited, fault.CodeRateLimited, "no"), 429, fault.CodeRateLimited, "no"},
		{fault.Upstream(fault.CodeUpstreamTimeout, "no"), 502, fault.CodeUpstreamTimeout, "no"},
		{fault.New(fault.KindUnavailable, fault.CodeUnavailable, "no"), 503, fault.CodeUnavailable, "no"},
		{fault.Conflict("no").Because(cause), 409, fault.CodeConflict, "no"},
		{fmt.Errorf("deep: %w", fault.Conflict("no")), 409, fault.CodeConflict, "no"},
		{cause, 500, fault.CodeInternal, "Internal error. Retry later."},
		{fault.Internal(cause), 500, fault.CodeInternal, "Internal error. Retry later."},
		{fiber.NewError(418, "hunter2"), 400, fault.CodeInvalidParameter, "We couldn't read that request."},
		{fiber.NewError(503, "hunter2"), 500, fault.CodeInternal, "Internal error. Retry later."},
	} {
		t.Run(fmt.Sprint(tc.status, " ", tc.err), func(t *testing.T) {
			failure = tc.err
			for _, method := range []string{"GET", "POST"} {
				a := webtest.Send(t, app, webtest.Case{Method: method, Path: "/fail"})
				var body struct {
					Code      fault.Code
					Message   string
					Restart   *bool
					RequestID string
				}
				if err := json.Unmarshal([]byte(a.Body), &body); err != nil {
					t.Fatalf("%v: %s", err, a.Body)
				}
				if a.Status != tc.status || body.Code != tc.code || body.Message != tc.message || body.Restart == nil || *body.Restart {
					t.Errorf("%s: %d %s", method, a.Status, a.Body)
				}
				if strings.Contains(a.Body, "hunter2") {
					t.Errorf("body reveals the cause: %s", a.Body)
				}
				if a.Header.Get("Content-Type") != "application/json" || a.Header.Get("Cache-Control") != "no-store" {
					t.Errorf("headers %v", a.Header)
				}
				if wantID := tc.status != 401; (body.RequestID == a.Header.Get("X-Request-Id")) != wantID || wantID == (body.RequestID == "") {
					t.Errorf("request id %q, header %q", body.RequestID, a.Header.Get("X-Request-Id"))
				}
			}
		})
	}
}

func TestFaultDetails(t *testing.T) {
	app, _ := webtest.NewApp(t)
	app.Get("/span", func(*fiber.Ctx) error {
		f := fault.Invalid("no")
		f.Span, f.Restart = &fault.Span{Start: 0, End: 7}, true
		return f
	})
	app.Get("/fields", func(*fiber.Ctx) error { return fault.Validation(map[string]string{"a": "x", "b": "y"}) })
	for path, want := range map[string]string{
		"/span":   `{"code":"INVALID_PARAMETER","message":"no","restart":true,"span":{"start":0,"end":7},"requestId":"`,
		"/fields": `{"code":"VALIDATION_FAILED","message":"Some fields are invalid.","restart":false,"fields":{"a":"x","b":"y"},"requestId":"`,
	} {
		if a := webtest.Send(t, app, webtest.Case{Path: path}); !strings.HasPrefix(a.Body, want) {
			t.Errorf("got %s", a.Body)
		}
	}
}

func TestRetryAfterRoundsUpToSeconds(t *testing.T) {
	app, _ := webtest.NewApp(t)
	var after time.Duration
	app.Get("/fail", func(*fiber.Ctx) error {
		f := fault.New(fault.KindRateLimited, fault.CodeRateLimited, "slow down")
		f.RetryAfter = after
		return f
	})
	for d, want := range map[time.Duration]string{0: "", time.Nanosecond: "1", time.Millisecond: "1", time.Second: "1", 1001 * time.Millisecond: "2", time.Minute: "60"} {
		after = d
		a := webtest.Send(t, app, webtest.Case{Path: "/fail"})
		webtest.Check(t, webtest.Case{Status: 429, WantHeader: map[string]string{"Retry-After": want}}, a)
	}
}

func TestErrorPageForBrowsers(t *testing.T) {
	app, _ := webtest.NewApp(t)
	app.All("/fail", func(*fiber.Ctx) error { return fault.NotFound("thing", "<script>") })
	const html, json = "text/html; charset=utf-8", "application/json"
	for _, tc := range []struct{ method, accept, want string }{
		{"GET", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", html},
		{"GET", "text/html", html},
		{"GET", "", json},
		{"GET", "*/*", json},
		{"GET", "application/json", json},
		{"GET", "application/json, text/html", json},
		{"GET", "text/plain", json},
		{"GET", "text/event-stream", json},
		{"POST", "text/html", json},
	} {
		a := webtest.Send(t, app, webtest.Case{Method: tc.method, Path: "/fail", Header: map[string]string{"Accept": tc.accept}})
		webtest.Check(t, webtest.Case{Status: 404, WantHeader: map[string]string{"Content-Type": tc.want, "Cache-Control": "no-store"}, NotBody: []string{"<script>"}}, a)
		if isPage := strings.HasPrefix(a.Body, "<p>!!!!"); isPage != (tc.want == html) {
			t.Errorf("%s %q: got %s", tc.method, tc.accept, a.Body)
		}
		if tc.want == html && !strings.Contains(a.Body, a.Header.Get("X-Request-Id")) {
			t.Errorf("page lacks the request ID: %s", a.Body)
		}
	}
}

func TestUnknownPathReturnsJSON(t *testing.T) {
	app, _ := webtest.NewApp(t)
	app.Add("GET", "/known", func(c *fiber.Ctx) error { return c.SendString("x") })
	webtest.Run(t, app, []webtest.Case{
		{Name: "unknown", Path: "/unknown", Status: 404, WantBody: []string{`"code":"NOT_FOUND"`, "Not found: GET /unknown."}},
		{Name: "root", Path: "/", Status: 404},
		{Name: "another case", Path: "/Known", Status: 404, WantBody: []string{`"code":"NOT_FOUND"`}},
		{Name: "another method", Method: "DELETE", Path: "/known", Status: 405, WantBody: []string{`"code":"METHOD_NOT_ALLOWED"`}, WantHeader: map[string]string{"Allow": "GET"}},
		{Name: "very long", Path: "/" + strings.Repeat("x", 4000), Status: 404, NotBody: []string{strings.Repeat("x", 200)}},
	})
}
