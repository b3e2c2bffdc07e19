package live_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"mcpgateway/routes/admin/live"
	"mcpgateway/routes/routestest"
	"mcpgateway/web/conn"
)

// part is the data of an event.
type part struct{ ID, HTML string }

// serve starts a listener and returns the origin.
func serve(t *testing.T, a *routestest.Admin) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
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
	return "http://" + listener.Addr().String()
}

// open opens the stream of a page and returns its status and parts.
func open(t *testing.T, origin, cookie, query string) (status int, parts <-chan part, leave func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, origin+"/admin/live?"+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Cookie", "sid="+cookie)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	read := make(chan part, 100)
	go func() {
		defer close(read)
		defer func() { _ = answer.Body.Close() }()
		lines := bufio.NewScanner(answer.Body)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			data, isData := strings.CutPrefix(lines.Text(), "data: ")
			var p part
			if isData && json.Unmarshal([]byte(data), &p) == nil {
				read <- p
			}
		}
	}()
	return answer.StatusCode, read, cancel
}

// until returns the first part with the id that contains text.
func until(t *testing.T, parts <-chan part, id, text string) part {
	t.Helper()
	for {
		select {
		case p, ok := <-parts:
			if !ok {
				t.Fatalf("stream ended before %s with %q", id, text)
			}
			if p.ID == id && strings.Contains(p.HTML, text) {
				return p
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("no part %s with %q", id, text)
		}
	}
}

func TestStreamSendsChangedParts(t *testing.T) {
	a := routestest.NewAdmin(t)
	status, parts, _ := open(t, serve(t, a), a.Cookie, "project=p&topics=nav:tools,")
	if status != 200 {
		t.Fatalf("status %d", status)
	}
	if p := until(t, parts, "nav-project", "Tools"); !strings.Contains(p.HTML, `href="/admin/projects/p/tools" aria-current="page"`) {
		t.Errorf("page is not marked: %s", p.HTML)
	}
	until(t, parts, "switch-name", "1 of 1 server up")
	server := "/admin/projects/p/servers/" + a.ServerID(t, "p", "clock")
	if status, body, _ := a.Send(t, server+"/enable", url.Values{"enabled": {"false"}}); status != 303 {
		t.Fatalf("status %d: %s", status, body)
	}
	until(t, parts, "switch-name", "No servers")
}

func TestStreamEndsWithSession(t *testing.T) {
	a := routestest.NewAdmin(t)
	_, parts, _ := open(t, serve(t, a), a.Cookie, "project=p&topics=nav:tools,")
	until(t, parts, "nav-project", "Tools")
	if status, _, _ := a.Send(t, "/logout", url.Values{}); status != 303 {
		t.Fatalf("status %d", status)
	}
	a.Apply(t, `{"projects":{"p":{"name":"Other","authMode":"api_key"}}}`)
	for p := range parts {
		if strings.Contains(p.HTML, "Other") {
			t.Error("part sent after the session ended")
		}
	}
}

func TestStreamRejectsUnknownTopics(t *testing.T) {
	a := routestest.NewAdmin(t)
	for query, want := range map[string]int{
		"": 400, "topics=nope": 400, "topics=nav:&project=nope": 404, "topics=nav:" + strings.Repeat("x", 2101): 400,
		"topics=" + strings.Join(strings.Split(strings.Repeat("nav:", 9), ":")[:9], "&topics="): 400,
	} {
		if status, body, _ := a.Send(t, "/admin/live?"+query, nil); status != want {
			t.Errorf("%.40q: status %d, want %d: %.200s", query, status, want, body)
		}
	}
}

func TestStreamLimitPerUser(t *testing.T) {
	a := routestest.NewAdmin(t)
	origin := serve(t, a)
	var leave func()
	for i := range live.MaxPerPerson {
		status, _, close := open(t, origin, a.Cookie, "topics=nav:")
		if status != 200 {
			t.Fatalf("stream %d: status %d", i+1, status)
		}
		leave = close
	}
	if status, _, _ := open(t, origin, a.Cookie, "topics=nav:"); status != 429 {
		t.Errorf("stream %d: status %d, want 429", live.MaxPerPerson+1, status)
	}
	leave()
	routestest.Eventually(t, "a free stream", func() bool {
		status, _, close := open(t, origin, a.Cookie, "topics=nav:")
		close()
		return status == 200
	})
}

func TestStreamRequiresViewer(t *testing.T) {
	a := routestest.NewAdmin(t)
	if status, _, _ := open(t, serve(t, a), "nobody", "topics=nav:"); status != 303 {
		t.Errorf("status %d, want the sign-in page", status)
	}
}
