package web_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/web"
	"mcpgateway/web/webtest"
)

// TestRequestIDsAreRandomUUIDs follows RFC 9562, section 5.4.
func TestRequestIDsAreRandomUUIDs(t *testing.T) {
	app, _ := webtest.NewApp(t)
	traces := map[string]string{}
	app.Get("/x", func(c *fiber.Ctx) error {
		e := web.EventOf(c)
		traces[e.RequestID] = e.Trace().Parent[3:35]
		return nil
	})
	version4 := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	const requests = 50
	for range requests {
		id := webtest.Send(t, app, webtest.Case{Path: "/x"}).Header.Get("X-Request-Id")
		if trace := traces[id]; !version4.MatchString(id) || trace != strings.ReplaceAll(id, "-", "") {
			t.Errorf("request ID %q, trace ID %q", id, trace)
		}
	}
	if len(traces) != requests {
		t.Errorf("%d requests, %d distinct IDs", requests, len(traces))
	}
	shared := map[string]bool{}
	for _, trace := range traces {
		shared[trace[:8]] = true
	}
	if len(shared) < requests-1 { // the chance of two equal prefixes is 1 in a million
		t.Errorf("%d IDs, %d distinct prefixes", len(traces), len(shared))
	}
}
