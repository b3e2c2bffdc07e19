package frame_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"mcpgateway/routes/routestest"
	"mcpgateway/services/sandbox"
	"mcpgateway/services/upstream/upstreamtest"
	"mcpgateway/web/conn"
)

// slowPages are pages with a tool that responds when the test allows it.
type slowPages struct {
	*routestest.Admin
	address string
	arrived chan struct{} // one value per call
	answer  chan struct{} // each value completes a call
	left    chan struct{} // one value per abandoned call
}

func newSlowPages(t *testing.T) *slowPages {
	t.Helper()
	a := &slowPages{Admin: routestest.NewAdmin(t), arrived: make(chan struct{}, 8), answer: make(chan struct{}), left: make(chan struct{}, 8)}
	slow := upstreamtest.New(upstreamtest.Options{Tools: []upstreamtest.Tool{{
		Definition: `{"name":"wait","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}`,
		Call: func(ctx context.Context, c *upstreamtest.Call) upstreamtest.Result {
			if err := c.Progress(1, 2, "<i>half way</i>"); err != nil && !errors.Is(err, upstreamtest.ErrNoProgressToken) {
				t.Error(err)
			}
			a.arrived <- struct{}{}
			select {
			case <-a.answer:
				return upstreamtest.Text("at last")
			case <-ctx.Done():
				a.left <- struct{}{}
				return upstreamtest.Failure("left alone")
			}
		},
	}}})
	a.Apply(t, fmt.Sprintf(`{"projects":{"p":{"authMode":"api_key","codeMode":{"enabled":true,"timeout":60000},"mcpServers":{"slow":{"url":%q}}}}}`, slow.Start(t)))
	a.Sync(t, "p", "slow")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	a.address = listener.Addr().String()
	ended := make(chan error, 1)
	go func() { ended <- a.Listener(conn.Listener(listener)) }()
	t.Cleanup(func() {
		if err := a.Shutdown(); err != nil {
			t.Error(err)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return a
}

// liveEvent is an event of a live response.
type liveEvent struct{ Name, HTML, URL string }

// post sends a form as the page's script does. leave closes the stream.
func (a *slowPages) post(t *testing.T, path string, form url.Values) (answer *http.Response, events <-chan liveEvent, leave func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	form.Set("csrf", a.CSRF)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+a.address+path, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Accept", "text/event-stream")
	request.Header.Set("Sec-Fetch-Site", "same-origin")
	request.AddCookie(&http.Cookie{Name: "sid", Value: a.Cookie})
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err = client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	heard := make(chan liveEvent, 100)
	go func() {
		defer close(heard)
		defer func() { _ = answer.Body.Close() }()
		lines := bufio.NewScanner(answer.Body)
		lines.Buffer(nil, 1<<20)
		var e liveEvent
		for lines.Scan() {
			if name, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
				e = liveEvent{Name: name}
			}
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok && json.Unmarshal([]byte(data), &e) == nil {
				heard <- e
			}
		}
	}()
	return answer, heard, cancel
}

// nextEvent returns the next event. It fails the test if the HTML lacks any of
// the texts.
func nextEvent(t *testing.T, events <-chan liveEvent, name string, texts ...string) liveEvent {
	t.Helper()
	select {
	case e, open := <-events:
		for _, text := range texts {
			if !strings.Contains(e.HTML, text) {
				t.Errorf("event lacks %q: %+v", text, e)
			}
		}
		if !open || e.Name != name {
			t.Fatalf("event = %+v, %v; want %s", e, open, name)
		}
		return e
	case <-time.After(30 * time.Second):
		t.Fatalf("no event %s", name)
		return liveEvent{}
	}
}

const runPath, tryPath = "/admin/projects/p/code-mode/run", "/admin/projects/p/tools/slow__wait/try"

func TestRunShowsProgress(t *testing.T) {
	a := newSlowPages(t)
	_, events, _ := a.post(t, runPath, url.Values{"code": {"console.log('<script>begin');\nreturn await slow.wait({})"}, "typecheck": {"off"}})
	nextEvent(t, events, "step", "&lt;script&gt;begin")
	nextEvent(t, events, "step", `id="step-1"`, "slow__wait", "Running")
	a.answer <- struct{}{}
	nextEvent(t, events, "step", `id="step-1"`, "OK")
	done := nextEvent(t, events, "done")
	if _, more := <-events; more {
		t.Error("event after the last one")
	}
	if status, page, _ := a.Send(t, strings.TrimSuffix(done.URL, "#outcome"), nil); status != 200 || !strings.Contains(page, "at last") {
		t.Errorf("outcome page %q: status %d", done.URL, status)
	}
}

func TestStoppedRunCancelsCallsAndIsStored(t *testing.T) {
	a := newSlowPages(t)
	_, events, leave := a.post(t, runPath, url.Values{"code": {"return await slow.wait({})"}})
	nextEvent(t, events, "step", "Running")
	<-a.arrived
	leave()
	<-a.left
	p, err := a.Services.Directory.Project("p")
	if err != nil {
		t.Fatal(err)
	}
	routestest.Eventually(t, "run is stored", func() bool {
		kept, err := a.Services.CodeRuns.List(t.Context(), p.Project.ID, "", 1)
		if err != nil {
			t.Fatal(err)
		}
		if len(kept) == 1 && (kept[0].Phase != string(sandbox.PhaseCancelled) || kept[0].Calls != 1) {
			t.Errorf("stored run %+v", kept[0])
		}
		return len(kept) == 1
	})
}

func TestPlaygroundShowsProgress(t *testing.T) {
	a := newSlowPages(t)
	_, events, _ := a.post(t, tryPath, url.Values{})
	nextEvent(t, events, "step", "1 of 2 &lt;i&gt;half way")
	a.answer <- struct{}{}
	nextEvent(t, events, "done", `id="result"`, "at last", "1 progress update")

	_, events, leave := a.post(t, tryPath, url.Values{})
	nextEvent(t, events, "step")
	<-a.arrived
	leave()
	<-a.left
}

func TestInvalidRunReturnsPage(t *testing.T) {
	a := newSlowPages(t)
	for _, c := range []struct {
		path, want string
		form       url.Values
	}{
		{runPath, "Use valid JSON", url.Values{"code": {"1"}, "input": {"{"}}},
		{runPath, "Enter some code", url.Values{}},
		{tryPath, "Use a JSON object", url.Values{"as": {"json"}, "arguments": {"[]"}}},
	} {
		answer, _, leave := a.post(t, c.path, c.form)
		if answer.StatusCode != 200 || !strings.HasPrefix(answer.Header.Get("Content-Type"), "text/html") || !strings.Contains(answer.Header.Get("Vary"), "Accept") {
			t.Errorf("%s: %d %v", c.path, answer.StatusCode, answer.Header)
		}
		leave()
		if status, body, _ := a.Send(t, c.path, c.form); status != 422 || !strings.Contains(body, c.want) {
			t.Errorf("%s without a script: %d", c.path, status)
		}
	}
}
