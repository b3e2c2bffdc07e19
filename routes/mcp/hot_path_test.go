package mcp_test

import (
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"mcpgateway/models/modelstest"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/upstream/upstreamtest"
)

const echoCall = `{"jsonrpc":"2.0","id":17,"method":"tools/call","params":{"name":"up__echo","arguments":{"text":"0123456789012345678901234567890123456789"}}}`

// warmApp returns the application with one in-process upstream server and a key,
// after the first call.
func warmApp(t testing.TB, tools int, settings ...string) (app *routestest.App, send func(body string) []byte) {
	up := upstreamtest.New(upstreamtest.Options{Name: "up", Tools: upstreamtest.Standard(tools), Answer: upstreamtest.AnswerJSON, Record: -1})
	app = routestest.New(t, modelstest.SQLite(t), settings...)
	app.Apply(t, `{"projects":{"p":{"authMode":"api_key","mcpServers":{"up":{"url":"`+up.Start(t)+`"}}}}}`)
	app.Sync(t, "p", "up")
	_, key := app.Key(t, "p", time.Hour)
	handler := app.Handler()
	send = func(body string) []byte {
		var c fasthttp.RequestCtx
		c.Request.Header.SetMethod(fiber.MethodPost)
		c.Request.SetRequestURI("/v1/mcp/p/request")
		c.Request.Header.SetHost("127.0.0.1:8080")
		c.Request.Header.SetContentType("application/json")
		c.Request.Header.Set("Authorization", "Bearer "+key)
		c.Request.SetBodyString(body)
		handler(&c)
		if status := c.Response.StatusCode(); status != 200 {
			t.Fatalf("status %d: %s", status, c.Response.Body())
		}
		return c.Response.Body()
	}
	if got := string(send(echoCall)); !strings.Contains(got, `"result"`) {
		t.Fatalf("the first call failed: %s", got)
	}
	return app, send
}

// background are the functions that use the database independently of requests:
// the change feed, syncs, token refreshes, and the writers of key usage and of
// the call log.
var background = []string{"services/notify.(*Feed)", "services/inventory.(*Syncer)", "services/oauthclient.(*Connections).renewDue", "services.(*Services).saveUse", callWriter}

const callWriter = "services/activity.(*Calls).write"

func TestWarmCallsUseNoDatabase(t *testing.T) {
	app, send := warmApp(t, 10)
	var uses, written atomic.Int64
	var mu sync.Mutex
	var stacks []string
	modelstest.OnStatement(t, app.Services.DB, func(statement string) {
		stack := string(debug.Stack())
		if strings.Contains(stack, callWriter) && strings.HasPrefix(statement, "INSERT OR FAIL INTO calls ") {
			written.Add(1)
		}
		if slices.ContainsFunc(background, func(name string) bool { return strings.Contains(stack, name) }) {
			return
		}
		uses.Add(1)
		mu.Lock()
		defer mu.Unlock()
		stacks = append(stacks, statement+"\n"+stack)
	})
	if _, err := app.Services.Projects.Project(t.Context(), "p"); err != nil || uses.Load() != 1 {
		t.Fatalf("got %d counted statements, want 1: %v", uses.Load(), err)
	}
	uses.Store(0)
	written.Store(0)
	for range 100 {
		send(echoCall)
		send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	}
	n := uses.Load()
	// The writer of the call log bypasses the ORM. Seeing its statements proves
	// that no other use of the database could be missed.
	routestest.Eventually(t, "the calls are written", func() bool { return written.Load() > 0 })
	if n > 0 {
		mu.Lock()
		defer mu.Unlock()
		t.Errorf("200 warm requests used the database %d times, last here:\n%s", n, stacks[len(stacks)-1])
	}
}

// maxCallAllocations is the maximum number of allocations of a warm call in the
// process, including the upstream server, with a margin for the race detector.
const maxCallAllocations = 220

func TestWarmCallAllocations(t *testing.T) {
	_, send := warmApp(t, 10)
	// Other work of the process counts too, more so on slow machines. One quiet
	// round is enough.
	var n float64
	for range 5 {
		if n = testing.AllocsPerRun(200, func() { send(echoCall) }); n <= maxCallAllocations {
			t.Logf("%.0f allocations, upstream included", n)
			return
		}
	}
	t.Errorf("a warm call makes %.0f allocations, want at most %d", n, maxCallAllocations)
}

func BenchmarkCall(b *testing.B) {
	_, send := warmApp(b, 10, "GATEWAY_LOG_LEVEL=error")
	b.ReportAllocs()
	for b.Loop() {
		send(echoCall)
	}
}

func BenchmarkList5000(b *testing.B) {
	_, send := warmApp(b, 5000, "GATEWAY_LOG_LEVEL=error")
	b.ReportAllocs()
	for b.Loop() {
		send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	}
}
