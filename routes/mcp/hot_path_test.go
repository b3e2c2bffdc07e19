package mcp_test

import (
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"mcpgateway/models"
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
	return app, sender(t, app, key)
}

// sender returns a function that sends requests with a key, after the first
// call.
func sender(t testing.TB, app *routestest.App, key string) (send func(body string) []byte) {
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
	return send
}

// crowd stores 200 toolsets and 1,000 grants in two projects, and returns a key
// of one toolset and a key of a person, who may use another one.
func crowd(t testing.TB, app *routestest.App) (bound, personal string) {
	app.Apply(t, `{"projects":{"other":{"authMode":"api_key"}}}`)
	db := app.Services.DB
	for _, slug := range []string{"p", "other"} {
		project, err := app.Services.Projects.Project(t.Context(), slug)
		if err != nil {
			t.Fatal(err)
		}
		now := time.Now().UTC()
		toolsets, grants := make([]models.Toolset, 99), make([]models.ProjectGrant, 499)
		for i := range toolsets {
			toolsets[i] = models.Toolset{ID: fmt.Sprint(slug, i), ProjectID: project.ID, Slug: fmt.Sprint("t", i), Include: models.StringList{"up__*"}, CreatedAt: now, UpdatedAt: now}
		}
		for i := range grants {
			grants[i] = models.ProjectGrant{
				ID: fmt.Sprint(slug, i), ProjectID: project.ID, SubjectKind: models.SubjectPerson, SubjectID: fmt.Sprint("someone", i),
				ToolsetID: toolsets[i%len(toolsets)].ID, Role: models.GrantUse, CreatedAt: now,
			}
		}
		for _, rows := range []any{&toolsets, &grants} {
			if err := db.CreateInBatches(rows, 100).Error; err != nil {
				t.Fatal(err)
			}
		}
		last := app.Toolset(t, slug, models.Toolset{Slug: "last", Include: models.StringList{"up__*"}})
		app.Grant(t, slug, models.ProjectGrant{SubjectKind: models.SubjectPerson, SubjectID: "ann", ToolsetID: last, Role: models.GrantUse})
		if slug == "p" {
			id, text := app.Key(t, slug, time.Hour)
			app.Bind(t, slug, id, last)
			bound = text
		}
	}
	if err := db.Create(&models.User{ID: "ann", Email: "ann@example.com", EmailFold: "ann@example.com", Role: models.RoleMember}).Error; err != nil {
		t.Fatal(err)
	}
	id, personal := app.Key(t, "p", time.Hour)
	app.Own(t, "p", id, "ann")
	if err := app.Services.Rights.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	return bound, personal
}

// background are the functions that use the database independently of requests:
// the loops of the services, with the writers of key usage, of the history of servers
// and of the call log among them, and the change feed, syncs and token refreshes that
// they start.
var background = []string{"(*Tasks).Loop", "services/notify.(*Feed)", "services/inventory.(*Syncer)", "services/oauthclient.(*Connections).renewDue", callWriter}

const callWriter = "services/activity.(*Calls).write"

func TestWarmCallsUseNoDatabase(t *testing.T) {
	app, whole := warmApp(t, 10)
	bound, personal := crowd(t, app)
	senders := []func(string) []byte{whole, sender(t, app, bound), sender(t, app, personal)}
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
		for _, send := range senders {
			send(echoCall)
			send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
		}
	}
	n := uses.Load()
	// The writer of the call log bypasses the ORM. Seeing its statements proves
	// that no other use of the database could be missed.
	routestest.Eventually(t, "the calls are written", func() bool { return written.Load() > 0 })
	if n > 0 {
		mu.Lock()
		defer mu.Unlock()
		t.Errorf("600 warm requests used the database %d times, last here:\n%s", n, stacks[len(stacks)-1])
	}
}

// maxCallAllocations is the maximum number of allocations of a warm call in the
// process, including the upstream server, with a margin for the race detector.
const maxCallAllocations = 225

func TestWarmCallAllocations(t *testing.T) {
	app, whole := warmApp(t, 10)
	bound, personal := crowd(t, app)
	for name, send := range map[string]func(string) []byte{"of the project": whole, "of a toolset": sender(t, app, bound), "of a person": sender(t, app, personal)} {
		// Other work of the process counts too, more so on slow machines. One quiet
		// round is enough.
		var n float64
		for range 5 {
			if n = testing.AllocsPerRun(200, func() { send(echoCall) }); n <= maxCallAllocations {
				t.Logf("key %s: %.0f allocations, upstream included", name, n)
				break
			}
		}
		if n > maxCallAllocations {
			t.Errorf("key %s: a warm call makes %.0f allocations, want at most %d", name, n, maxCallAllocations)
		}
	}
}

// BenchmarkCall compares calls by a key of the whole project, by a key of one
// toolset and by a key of a person, in a database with 200 toolsets and 1,000
// grants, and the first one also in a database without any.
func BenchmarkCall(b *testing.B) {
	calls := func(name string, send func(string) []byte) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				send(echoCall)
			}
		})
	}
	app, whole := warmApp(b, 10, "GATEWAY_LOG_LEVEL=error")
	calls("whole project", whole)
	bound, personal := crowd(b, app)
	calls("whole project, crowded", whole)
	calls("toolset, crowded", sender(b, app, bound))
	calls("person, crowded", sender(b, app, personal))
}

func BenchmarkList5000(b *testing.B) {
	_, send := warmApp(b, 5000, "GATEWAY_LOG_LEVEL=error")
	b.ReportAllocs()
	for b.Loop() {
		send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	}
}
