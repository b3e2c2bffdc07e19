package tasks_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"mcpgateway/models/modelstest"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/upstream/upstreamtest"
	"mcpgateway/web/webtest"
)

// start starts a task and returns its handle.
func start(t *testing.T, c *routestest.Client, tool, arguments string) string {
	t.Helper()
	params := `{"name":"` + tool + `","arguments":` + arguments + `,"task":{"ttl":60000}}`
	got := taskIn(t, send(t, c, "tools/call", params))
	// When the server responds, the task may already require input or have ended.
	if got.TaskID == "" || !slices.Contains([]string{"working", "input_required", "completed", "failed"}, got.Status) {
		t.Fatalf("%s: %+v", tool, got)
	}
	return got.TaskID
}

// TestTaskLifeOfCore goes through the life of tasks of 2025-11-25.
func TestTaskLifeOfCore(t *testing.T) {
	t.Parallel()
	w := newWorld(t, modelstest.SQLite(t), "")
	c := w.client(t, handshake, forms)
	stream := c.Listen(t, "")
	id := start(t, c, "core__may", `{"hold":true}`)
	if got := taskIn(t, send(t, c, "tasks/get", named(id))); got.TaskID != id || got.Status != "working" || got.TTL == nil || *got.TTL != 3_600_000 {
		t.Errorf("tasks/get: %+v", got)
	}
	if again := start(t, c, "core__may", `{}`); again == id {
		t.Error("two tasks have one handle")
	}
	close(w.release)
	result := send(t, c, "tasks/result", named(id))
	wantText(t, "tasks/result", result, `"text":"done"`)
	wantText(t, "tasks/result", result, `"io.modelcontextprotocol/related-task":{"taskId":"`+id+`"}`)
	routestest.Eventually(t, "the state in tasks/list", func() bool { // notifications are stored in the background
		list := send(t, c, "tasks/list", `{}`)
		return strings.Count(list, `"taskId":"`) == 2 && strings.Contains(list, id) && strings.Contains(list, `"completed"`)
	})
	got := send(t, c, "tasks/cancel", named(id))
	wantText(t, "tasks/cancel", got, `terminal`)
	if strings.Contains(got, "task-1 ") {
		t.Errorf("the server's id was shown: %s", got)
	}
	wantText(t, "tasks/update", send(t, c, "tasks/update", named(id)), "-32601")
	failing := start(t, c, "core__may", `{"fail":true}`)
	wantText(t, "a failed task", send(t, c, "tasks/result", named(failing)), `-32050`)
	for _, m := range drain(stream) {
		if m.Method == "notifications/tasks/status" && !strings.Contains(string(m.Params), `"taskId":"A`) {
			t.Errorf("status with another id: %s", m.Params)
		}
	}
}

// TestStatusReachesItsOwner sends states of a task on the server's own stream.
func TestStatusReachesItsOwner(t *testing.T) {
	t.Parallel()
	w := newWorld(t, modelstest.SQLite(t), "")
	c, other := w.client(t, handshake, forms), w.client(t, handshake, forms)
	mine, theirs := c.Listen(t, ""), other.Listen(t, "")
	id := start(t, c, "core__may", `{"hold":true}`)
	go func() { _, _ = c.Send(t.Context(), "tasks/result", named(id)) }() // holds the stream of the server
	routestest.Eventually(t, "a state on the owner's stream", func() bool {
		w.core.Task(1).SetStatus("working", time.Now().String())
		for _, m := range drain(mine) {
			if m.Method == "notifications/tasks/status" && strings.Contains(string(m.Params), id) {
				return true
			}
		}
		return false
	})
	close(w.release)
	for _, m := range drain(theirs) {
		t.Errorf("another client received %s", m.Method)
	}
}

func drain(messages <-chan routestest.Message) (all []routestest.Message) {
	for {
		select {
		case m := <-messages:
			all = append(all, m)
		default:
			return all
		}
	}
}

// TestTaskLifeOfExtension goes through the life of tasks of the extension.
func TestTaskLifeOfExtension(t *testing.T) {
	t.Parallel()
	w := newWorld(t, modelstest.SQLite(t), "")
	c := w.client(t, stateless, declares)
	id := start(t, c, "ext__may", `{"ask":true,"hold":true}`)
	listening := c.Listen(t, `{"taskIds":["`+id+`","unknown"]}`)
	var ack routestest.Message
	routestest.Eventually(t, "an acknowledgment", func() bool {
		select {
		case ack = <-listening:
			return true
		default:
			return false
		}
	})
	wantText(t, "acknowledgment", string(ack.Params), `"taskIds":["`+id+`"]`)
	got := taskIn(t, send(t, c, "tasks/get", named(id)))
	if got.TaskID != id || got.Status != "input_required" || len(got.InputRequests) != 1 || got.TTLMs == nil {
		t.Fatalf("tasks/get: %+v", got)
	}
	wantText(t, "tasks/update", send(t, c, "tasks/update", `{"taskId":"`+id+`","inputResponses":{"input-1":{"action":"decline"}}}`), `"resultType":"complete"`)
	close(w.release)
	routestest.Eventually(t, "the result", func() bool { return taskIn(t, send(t, c, "tasks/get", named(id))).Status == "completed" })
	wantText(t, "result", string(taskIn(t, send(t, c, "tasks/get", named(id))).Result), `decline`)
	wantText(t, "tasks/cancel", send(t, c, "tasks/cancel", named(id)), `"resultType":"complete"`)
	seen := ""
	routestest.Eventually(t, "the states on the stream", func() bool {
		for _, m := range drain(listening) {
			seen += m.Method + string(m.Params) + "\n"
		}
		return strings.Contains(seen, `"completed"`)
	})
	if strings.Contains(seen, "task-1") || !strings.Contains(seen, "notifications/tasks{") || !strings.Contains(seen, "subscriptionId") {
		t.Errorf("states on the stream: %s", seen)
	}
	for _, method := range []string{"tasks/result", "tasks/list"} {
		m, err := c.Send(t.Context(), method, named(id))
		if err != nil || m.Status != 404 || !strings.Contains(string(m.Error), "-32601") {
			t.Errorf("%s: %d %s, %v", method, m.Status, m.Error, err)
		}
	}
	undeclared := w.client(t, stateless, "")
	for _, r := range [][2]string{{"tasks/get", named(id)}, {"tasks/update", named(id)}, {"tasks/cancel", named("x")}, {"subscriptions/listen", `{"notifications":{"taskIds":["` + id + `"]}}`}} {
		m, err := undeclared.Send(t.Context(), r[0], r[1])
		if err != nil || m.Status != 400 || !strings.Contains(string(m.Error), "-32021") || !strings.Contains(string(m.Error), `"requiredCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}`) {
			t.Errorf("%s of a client without the extension: %d %s, %v", r[0], m.Status, m.Error, err)
		}
	}
	for _, name := range []string{"", "other"} {
		w.wantMismatch(t, name, id)
	}
}

// wantMismatch sends tasks/get with a wrong Mcp-Name header, or without one.
func (w *world) wantMismatch(t *testing.T, name, id string) {
	t.Helper()
	body := `{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"taskId":"` + id + `","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":` + declares + `}}}`
	got := webtest.Send(t, w.App.App, webtest.Case{Method: "POST", Path: "/v1/mcp/p/request", Body: body, Header: map[string]string{
		"Authorization": "Bearer " + w.token, "MCP-Protocol-Version": stateless, "Mcp-Method": "tasks/get", "Mcp-Name": name,
	}})
	if got.Status != 400 || !strings.Contains(got.Body, "-32020") {
		t.Errorf("Mcp-Name %q: %d %s", name, got.Status, got.Body)
	}
}

var requestID = regexp.MustCompile(`"requestId":"[^"]*"`)

// withoutRequest returns an error without the id of its request.
func withoutRequest(message string) string {
	return requestID.ReplaceAllString(message, `"requestId":""`)
}

// TestHandleIsForItsOwner uses handles that are forged, foreign, unknown, of the
// other form, and of a tool that the caller lost.
func TestHandleIsForItsOwner(t *testing.T) {
	t.Parallel()
	w := newWorld(t, modelstest.SQLite(t), "")
	c, modern := w.client(t, handshake, ""), w.client(t, stateless, declares)
	id, extID := start(t, c, "core__may", `{"hold":true}`), start(t, modern, "ext__may", `{"hold":true}`)
	ours := w.token
	_, theirs := w.Key(t, "p", 0)
	w.token = theirs
	other, otherModern := w.client(t, handshake, ""), w.client(t, stateless, declares)
	changed := strings.Replace(id, id[20:22], "00", 1)
	want := ""
	for name, r := range map[string]struct {
		client *routestest.Client
		id     string
	}{
		"foreign": {other, id}, "forged": {c, changed}, "unknown": {c, "task-1"}, "empty": {c, ""}, "another form": {c, extID},
		"foreign, stateless": {otherModern, extID}, "another form, stateless": {modern, id}, "forged, stateless": {modern, extID + "A"},
	} {
		methods := []string{"tasks/get", "tasks/cancel"}
		if r.client == c || r.client == other {
			methods = append(methods, "tasks/result")
		}
		for _, method := range methods {
			m, err := r.client.Send(t.Context(), method, named(r.id))
			if err != nil {
				t.Fatal(err)
			}
			got := withoutRequest(string(m.Error))
			if want == "" {
				want = got
			}
			if got != want || !strings.Contains(want, `-32602,"message":"Task not found."`) || m.Status != 200 {
				t.Errorf("%s, %s: %d %s%s, want %s", name, method, m.Status, m.Result, m.Error, want)
			}
		}
	}
	if list := send(t, other, "tasks/list", `{}`); list != `{"tasks":[]}` {
		t.Errorf("tasks of another key: %s", list)
	}
	if got := send(t, c, "tasks/get", named(id)); !strings.Contains(got, `"working"`) {
		t.Errorf("somebody else changed the task: %s", got)
	}
	w.token = ours
	w.Apply(t, `{"projects":{"p":{"disabledTools":["core__may"]}}}`)
	call := withoutRequest(send(t, c, "tools/call", `{"name":"core__may","arguments":{}}`))
	if got := withoutRequest(send(t, c, "tasks/get", named(id))); got != call || !strings.Contains(got, "TOOL_DISABLED") {
		t.Errorf("of a disabled tool: %s, want %s", got, call)
	}
	if list := send(t, c, "tasks/list", `{}`); list != `{"tasks":[]}` {
		t.Errorf("tasks of a disabled tool: %s", list)
	}
}

// TestHandleOnReplica uses the handles of one replica at another and after a
// restart, also of a server that keeps tasks in the session that created them.
func TestHandleOnReplica(t *testing.T) {
	t.Parallel()
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		release := make(chan struct{})
		settings := upstreamtest.Tasks{Bound: true}
		start1 := func(era upstreamtest.Era) string {
			return upstreamtest.New(upstreamtest.Options{Tools: []upstreamtest.Tool{tool("may", "optional", works(release))}, Tasks: settings, Eras: []upstreamtest.Era{era}}).Start(t)
		}
		declared := fmt.Sprintf(`{"projects":{"p":{"authMode":"api_key","mcpServers":{"core":{"url":%q},"ext":{"url":%q}}}}}`, start1(upstreamtest.Era20251125), start1(upstreamtest.Era20260728))
		var id, extID, pending, token string
		t.Run("one", func(t *testing.T) {
			a := &world{App: routestest.New(t, dsn)}
			a.Apply(t, declared)
			a.Sync(t, "p", "core", "ext")
			a.base = a.Serve(t)
			_, a.token = a.Key(t, "p", 0)
			token = a.token
			pending = start(t, a.client(t, stateless, declares), "ext__may", `{"ask":true,"hold":true}`)
			id, extID = start(t, a.client(t, handshake, ""), "core__may", `{"hold":true}`), start(t, a.client(t, stateless, declares), "ext__may", `{"hold":true}`)
		}) // its services are closed here
		b := &world{App: routestest.New(t, dsn), token: token}
		b.base = b.Serve(t)
		c, modern := b.client(t, handshake, ""), b.client(t, stateless, declares)
		if got := taskIn(t, send(t, c, "tasks/get", named(id))); got.TaskID != id || got.Status != "working" {
			t.Errorf("core: %+v", got)
		}
		if got := taskIn(t, send(t, modern, "tasks/get", named(extID))); got.TaskID != extID || got.Status != "working" {
			t.Errorf("extension: %+v", got)
		}
		listening := modern.Listen(t, `{"taskIds":["`+pending+`"]}`)
		wantText(t, "tasks/update", send(t, modern, "tasks/update", `{"taskId":"`+pending+`","inputResponses":{"input-1":{"action":"decline"}}}`), `"complete"`)
		seen := ""
		routestest.Eventually(t, "a state on the stream", func() bool {
			for _, m := range drain(listening) {
				seen += string(m.Params)
			}
			return strings.Contains(seen, `"status":"working"`) && strings.Contains(seen, pending)
		})
		wantText(t, "tasks/cancel", send(t, modern, "tasks/cancel", named(extID)), `"complete"`)
		if got := taskIn(t, send(t, modern, "tasks/get", named(extID))); got.Status != "cancelled" {
			t.Errorf("after tasks/cancel: %+v", got)
		}
		close(release)
		wantText(t, "tasks/result", send(t, c, "tasks/result", named(id)), `"text":"done"`)
		wantText(t, "tasks/list", send(t, c, "tasks/list", `{}`), id)
	})
}
