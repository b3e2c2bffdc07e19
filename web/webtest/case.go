// Package webtest runs tables of HTTP requests against an application. It also
// has a server, connections and a clock for tests.
package webtest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gofiber/fiber/v2"
	"github.com/google/go-cmp/cmp"
)

// Case is one request and its expected response. Empty expectations are not
// checked.
type Case struct {
	Name   string
	Method string // default POST with a body, otherwise GET
	Path   string
	Header map[string]string
	Body   string

	Status     int
	WantHeader map[string]string // "" means that the header must be absent
	WantJSON   string            // compared as JSON value
	WantBody   []string          // substrings
	NotBody    []string
}

// Run sends the request of every case and checks the response.
func Run(t *testing.T, app *fiber.App, cases []Case) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			t.Helper()
			Check(t, c, Send(t, app, c))
		})
	}
}

// Response is a response and its body.
type Response struct {
	Status int
	Header http.Header
	Body   string
}

// Send sends the case's request and returns the response.
func Send(t *testing.T, app *fiber.App, c Case) Response {
	t.Helper()
	method := c.Method
	if method == "" {
		method = http.MethodGet
		if c.Body != "" {
			method = http.MethodPost
		}
	}
	r := httptest.NewRequest(method, c.Path, strings.NewReader(c.Body))
	r.Host = "127.0.0.1:8080"
	if c.Body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for k, v := range c.Header {
		if http.CanonicalHeaderKey(k) == "Host" {
			r.Host = v
			continue
		}
		r.Header.Set(k, v)
		if v == "" {
			r.Header.Del(k)
		}
	}
	resp, err := app.Test(r, -1)
	if err != nil {
		t.Fatalf("%s %s: %v", method, c.Path, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return Response{Status: resp.StatusCode, Header: resp.Header, Body: string(body)}
}

// Check compares a response with the case's expectations.
func Check(t *testing.T, c Case, a Response) {
	t.Helper()
	if c.Status != 0 && a.Status != c.Status {
		t.Errorf("status = %d, want %d; body %s", a.Status, c.Status, a.Body)
	}
	for k, want := range c.WantHeader {
		if got := a.Header.Get(k); got != want {
			t.Errorf("header %s = %q, want %q", k, got, want)
		}
	}
	if c.WantJSON != "" {
		var got, want any
		if err := json.Unmarshal([]byte(a.Body), &got); err != nil {
			t.Errorf("body is not JSON: %v: %s", err, a.Body)
		}
		if err := json.Unmarshal([]byte(c.WantJSON), &want); err != nil {
			t.Fatalf("WantJSON is invalid: %v", err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("body (-want +got):\n%s", d)
		}
	}
	for _, want := range c.WantBody {
		if !strings.Contains(a.Body, want) {
			t.Errorf("body lacks %q: %s", want, a.Body)
		}
	}
	for _, not := range c.NotBody {
		if strings.Contains(a.Body, not) {
			t.Errorf("body contains %q: %s", not, a.Body)
		}
	}
}
