package mcp_test

import (
	"strings"
	"testing"
	"time"

	"mcpgateway/routes/mcp"
)

func TestMaxOpenStreams(t *testing.T) {
	const perPrincipal = 256
	for _, c := range []struct {
		name string
		max  int
		most int
	}{
		{"per principal", 1000, perPrincipal},
		{"total", 3, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			release := newGate()
			s := serve(t, `{"projects":{"p":{"authMode":"api_key"}}}`, func(*call) (string, error) {
				<-release.c
				return okResult, nil
			}, func(o *mcp.Options) { o.MaxStreams = c.max })
			defer release.open()
			_, key := s.Key(t, "p", time.Hour)
			_, other := s.Key(t, "p", time.Hour)
			bridge := request{path: "sse", body: toolCall, header: header("Authorization", "Bearer "+key)}
			session := s.session(t, "Authorization", "Bearer "+key)
			streams := []request{
				bridge,
				{path: "sse", header: header("Authorization", "Bearer "+key, "Accept", "text/event-stream")},
				{header: header("Authorization", "Bearer "+key, "Accept", "text/event-stream", "Mcp-Session-Id", session)},
				{body: listenRequest, header: modernHeader("subscriptions/listen", "Authorization", "Bearer "+key)},
			}
			for range c.most - 1 {
				s.stream(t, bridge)
			}
			last := s.stream(t, streams[1])
			for i, r := range streams {
				status, h, body := s.get(t, r)
				if status != 429 || h.Get("Retry-After") != "10" || !strings.Contains(body, "RATE_LIMITED") {
					t.Errorf("stream %d beyond the limit: got %d, Retry-After %q: %s", i, status, h.Get("Retry-After"), body)
				}
			}
			if c.max > c.most {
				s.stream(t, request{path: "sse", header: header("Authorization", "Bearer "+other, "Accept", "text/event-stream")})
			}
			last.close()
			deadline := time.Now().Add(30 * time.Second)
			for {
				resp, err := s.try(streams[1])
				if err != nil {
					t.Fatal(err)
				}
				_ = resp.Body.Close()
				if resp.StatusCode == 200 {
					break
				}
				if time.Now().After(deadline) {
					t.Fatal("the slot of a closed stream was not released")
				}
			}
		})
	}
}

func TestCallWithoutFreeStream(t *testing.T) {
	for _, modern := range []bool{false, true} {
		s := serve(t, openProject, func(c *call) (string, error) {
			c.progress(1)
			if c.Ask != nil {
				if _, _, err := c.Ask(c, "roots/list", nil); err == nil {
					t.Error("Ask succeeded without a stream")
				}
			}
			return okResult, c.Err()
		}, func(o *mcp.Options) { o.MaxStreams = 1 })
		s.openPosted(t)
		r := request{body: toolCall, header: legacyHeader("Mcp-Session-Id", s.session(t))}
		if modern {
			r = request{body: modernCall, header: modernHeader("tools/call")}
		}
		status, h, body := s.get(t, r)
		if status != 200 || h.Get("Content-Type") != "application/json" || body != okAnswer {
			t.Errorf("modern %v: %d %s: %s", modern, status, h.Get("Content-Type"), body)
		}
	}
}

func TestShutdownDrainsCalls(t *testing.T) {
	began, cancelled, release := newGate(), newGate(), newGate()
	s := serve(t, openProject, plays(began, cancelled, release, func(c *call) { c.progress(1) }))
	defer release.open()
	listening := s.stream(t, request{header: streamHeader(s.session(t))})
	posted, _ := s.openPosted(t)
	running := s.stream(t, request{body: toolCall, header: legacyHeader()})
	began.wait(t, "the call began")
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.shutdown(t)
	}()
	for listening.block() != "" {
	}
	for posted.block() != "" {
	}
	select {
	case <-done:
		t.Error("shutdown didn't wait for the call")
	default:
	}
	release.open()
	running.want(progressMessage(1))
	running.want(okAnswer)
	running.want("")
	<-done
}

func TestCORS(t *testing.T) {
	s := serve(t, `{"projects":{"p":{"authMode":"api_key"}}}`, nil)
	const app = "https://app.example.com"
	for _, c := range []struct {
		name, method, path, origin string
		asked                      string
		status                     int
		allowed, methods           string
	}{
		{"preflight", "OPTIONS", "request", app, "", 204, app, "POST, GET, DELETE"},
		{"preflight of the bridge", "OPTIONS", "sse", app, "", 204, app, "GET, POST"},
		{"preflight of arguments", "OPTIONS", "request", app, "content-type, Mcp-Param-Region,mcp-param-a b,x-other", 204, app, "POST, GET, DELETE"},
		{"preflight of another origin", "OPTIONS", "request", "https://evil.example", "", 403, "", ""},
		{"preflight of an origin with the same prefix", "OPTIONS", "request", "https://app.example.com.evil.example", "", 403, "", ""},
		{"preflight of a null origin", "OPTIONS", "request", "null", "", 403, "", ""},
		{"OPTIONS without Origin", "OPTIONS", "request", "", "", 204, "", ""},
		{"call without a key", "POST", "request", app, "", 401, app, ""},
		{"call of another origin", "POST", "request", "https://evil.example", "", 403, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := header("Access-Control-Request-Headers", c.asked)
			if c.origin != "" {
				h["Origin"] = c.origin
			}
			status, got, body := s.get(t, request{method: c.method, path: c.path, header: h})
			if status != c.status || got.Get("Access-Control-Allow-Origin") != c.allowed || got.Get("Access-Control-Allow-Methods") != c.methods {
				t.Errorf("status %d, origin %q, methods %q: %s", status, got.Get("Access-Control-Allow-Origin"), got.Get("Access-Control-Allow-Methods"), body)
			}
			if c.allowed != "" && !strings.Contains(got.Get("Access-Control-Expose-Headers"), "Mcp-Session-Id, MCP-Protocol-Version, WWW-Authenticate") {
				t.Errorf("exposed are %q", got.Get("Access-Control-Expose-Headers"))
			}
			headers := got.Get("Access-Control-Allow-Headers")
			if c.methods != "" && !strings.Contains(headers, "mcp-session-id") || strings.Contains(headers, "x-other") || strings.Contains(headers, "a b") {
				t.Errorf("allowed headers are %q", headers)
			}
			if c.asked != "" && !strings.Contains(headers, "mcp-param-region") {
				t.Errorf("allowed headers are %q", headers)
			}
		})
	}
	if status, _, _ := s.get(t, request{method: "OPTIONS", path: "../q/request", header: header("Origin", app)}); status != 404 {
		t.Errorf("preflight of an unknown project: got %d, want 404", status)
	}
}
