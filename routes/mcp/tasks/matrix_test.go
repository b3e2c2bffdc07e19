package tasks_test

import (
	"strings"
	"sync"
	"testing"

	"mcpgateway/models/modelstest"
	"mcpgateway/routes/routestest"
)

// TestTaskMatrix calls tools of both servers with each kind of client.
func TestTaskMatrix(t *testing.T) {
	t.Parallel()
	w := newWorld(t, modelstest.SQLite(t), "")
	const (
		done     = `"text":"done"`
		plain    = `"text":"plain"`
		handle   = `"taskId":"A`
		refused  = `"code":-32021`
		noMethod = `"code":-32601`
	)
	for _, c := range []struct {
		name               string
		client             *routestest.Client
		task               string
		needs, may, never  string // of core
		needsExt, neverExt string // of ext
	}{
		{"C25 with task", w.client(t, handshake, ""), `,"task":{"ttl":60000}`, handle, handle, noMethod, done, plain},
		{"C25 without", w.client(t, handshake, ""), "", done, plain, plain, done, plain},
		{"plain", w.plain(t), "", done, plain, plain, done, plain},
		{"plain with task", w.plain(t), `,"task":{}`, done, plain, plain, done, plain},
		{"C26 declaring", w.client(t, stateless, declares), "", done, plain, plain, handle, plain},
		{"C26 declaring, with task", w.client(t, stateless, declares), `,"task":{}`, done, plain, plain, handle, plain},
		{"C26 not declaring", w.client(t, stateless, ""), "", done, plain, plain, refused, plain},
	} {
		for tool, want := range map[string]string{"core__needs": c.needs, "core__may": c.may, "core__never": c.never, "ext__needs": c.needsExt, "ext__never": c.neverExt} {
			got := send(t, c.client, "tools/call", `{"name":"`+tool+`","arguments":{}`+c.task+`}`)
			wantText(t, c.name+" "+tool, got, want)
			if want == done && strings.Contains(got, "related-task") || want != handle && strings.Contains(got, "taskId") {
				t.Errorf("%s %s: got %s, which names a task", c.name, tool, got)
			}
		}
	}
}

// TestRequiredBecomesUsable lists, describes and calls tools that only run as
// tasks.
func TestRequiredBecomesUsable(t *testing.T) {
	t.Parallel()
	w := newWorld(t, modelstest.SQLite(t), "")
	old, modern := w.client(t, handshake, forms), w.client(t, stateless, `{}`)
	for name, c := range map[string]*routestest.Client{"C25": old, "C26": modern} {
		list := send(t, c, "tools/list", `{}`)
		if strings.Contains(list, `"taskSupport":"required"`) || strings.Count(list, `"taskSupport":"optional"`) != 4 {
			t.Errorf("%s: %s", name, list)
		}
	}
	for name, arguments := range map[string]string{
		"by name":      `{"name":"core__needs","arguments":{}}`,
		"ext, by name": `{"name":"ext__needs","arguments":{}}`,
		"in code":      `{"code":"return await core.needs({}) + await ext.needs({})"}`,
	} {
		for era, c := range map[string]*routestest.Client{"C25": old, "C26": modern, "C26 declaring": w.client(t, stateless, declares)} {
			got := send(t, c, "tools/call", `{"name":"gateway_executeTool","arguments":`+arguments+`}`)
			wantText(t, era+" "+name, got, "done")
		}
	}
	// The status message is progress, and input is requested as in calls.
	old.Respond = func(m routestest.Message) string {
		if strings.Contains(string(m.Params), "related-task") {
			t.Errorf("the client was told of a task: %s", m.Params)
		}
		return `{"action":"accept","content":{"which":"this"}}`
	}
	finish := sync.OnceFunc(func() { close(w.release) })
	for _, tool := range []string{"core__needs", "ext__needs"} {
		var progress []string
		old.Notified = func(m routestest.Message) {
			progress = append(progress, m.Method+string(m.Params))
			finish()
		}
		m, err := old.Call(t.Context(), tool, `{"ask":true,"hold":true}`)
		if err != nil {
			t.Fatal(err)
		}
		wantText(t, tool, string(m.Result)+string(m.Error), `this`)
		if !strings.Contains(strings.Join(progress, " "), `half way`) {
			t.Errorf("%s: progress %q", tool, progress)
		}
	}
	// A stateless client continues the call, while the task waits.
	asking := w.client(t, stateless, forms)
	got := send(t, asking, "tools/call", `{"name":"core__needs","arguments":{"ask":true}}`)
	wantText(t, "input", got, `"resultType":"input_required"`)
	_, after, _ := strings.Cut(got, `"requestState":"`)
	state, _, _ := strings.Cut(after, `"`)
	got = send(t, asking, "tools/call", `{"name":"core__needs","arguments":{"ask":true},"requestState":"`+state+`","inputResponses":{"input":{"action":"decline"}}}`)
	wantText(t, "continued", got, `decline`)
}

// TestCapabilitiesForTasks checks which clients receive capabilities for tasks, and
// in which form.
func TestCapabilitiesForTasks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, modelstest.SQLite(t), "")
	const core, listed, ext = `"tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}`, `"list":{}`, `"io.modelcontextprotocol/tasks":{}`
	at := func(version string) string {
		c := w.client(t, version, "")
		if version == stateless {
			return send(t, c, "server/discover", `{}`)
		}
		return send(t, c, "initialize", `{"protocolVersion":"`+version+`","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`)
	}
	for version, want := range map[string]string{handshake: core, "2025-06-18": "", stateless: ext} {
		got := at(version)
		for _, part := range []string{core, ext} {
			if strings.Contains(got, part) != (part == want) {
				t.Errorf("%s: %s", version, got)
			}
		}
	}
	w.Apply(t, `{"projects":{"p":{"authMode":"none","mcpServers":{"core":{},"ext":{}}}}}`)
	w.token = ""
	if got := at(handshake); !strings.Contains(got, `"tasks":{"cancel":{}`) || strings.Contains(got, listed) {
		t.Errorf("without access control: %s", got)
	}
	if got := send(t, w.client(t, handshake, ""), "tasks/list", `{}`); !strings.Contains(got, "-32601") {
		t.Errorf("tasks/list without access control: %s", got)
	}
}
