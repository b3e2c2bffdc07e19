package mcp_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/routes/mcp"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/upstream/upstreamtest"
)

const latestHandshake = "2025-11-25"

// cutCall starts a call in a session and closes its connection after the first
// progress. It returns the id of the last event.
func (s *server) cutCall(t *testing.T, session string, more ...string) (id string) {
	t.Helper()
	connection, cut := context.WithCancel(t.Context())
	stream := s.stream(t, request{body: toolCall, header: legacyHeader(append([]string{"Mcp-Session-Id", session}, more...)...), conn: connection})
	if block := stream.block(); !strings.HasPrefix(block, "id: ") || !strings.HasSuffix(block, "\nretry: 2000\ndata: \n") {
		t.Fatalf("the stream begins with %q", block)
	}
	stream.want(progressMessage(1))
	cut()
	stream.close()
	return stream.id
}

// resume reconnects after the event with the id.
func (s *server) resume(t *testing.T, session, id string, more ...string) *events {
	t.Helper()
	return s.stream(t, resumption(session, id, more...))
}

func resumption(session, id string, more ...string) request {
	return request{header: header(append([]string{"Accept", "text/event-stream", "Mcp-Session-Id", session, "Last-Event-ID", id}, more...)...)}
}

// steps is a call that reports progress 1, waits for each gate and reports the
// next progress, then returns.
func steps(gates ...*gate) func(*call) (string, error) {
	return func(c *call) (string, error) {
		c.progress(1)
		for i, gate := range gates {
			select {
			case <-gate.c:
			case <-c.Done():
				return "", c.Err()
			}
			if i < len(gates)-1 {
				c.progress(i + 2)
			}
		}
		return okResult, nil
	}
}

func TestResume(t *testing.T) {
	second, third, last := newGate(), newGate(), newGate()
	s := serve(t, openProject, steps(second, third, last))
	defer func() {
		for _, g := range []*gate{second, third, last} {
			g.open()
		}
	}()
	session := s.session(t)
	listening := s.stream(t, request{header: header("Accept", "text/event-stream", "Mcp-Session-Id", session)})
	listening.block() // the comment
	id := s.cutCall(t, session)
	second.open()
	stream := s.resume(t, session, id)
	stream.want(progressMessage(2))
	third.open()
	stream.want(progressMessage(3))
	between := stream.id
	last.open()
	stream.want(okAnswer)
	stream.want("")

	again := s.resume(t, session, between)
	again.want(okAnswer)
	again.want("")
	if status, h, body := s.get(t, resumption(session, stream.id)); status != 405 || h.Get("Allow") == "" {
		t.Errorf("after the last event: %d %s", status, body)
	}
	if n := countFinished(t, s); n != 0 {
		t.Errorf("%d delivered results are stored", n)
	}
	s.get(t, request{method: http.MethodDelete, header: header("Mcp-Session-Id", session)})
	listening.want("") // it was neither replaced nor used
}

func countFinished(t *testing.T, s *server) (n int64) {
	t.Helper()
	if err := s.Services.DB.Model(&models.FinishedResult{}).Count(&n).Error; err != nil {
		t.Fatal(err)
	}
	return n
}

// TestResumeOnReplica resumes the stream of a call at another replica, which
// receives the result from the database.
func TestResumeOnReplica(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		leaveNothing(t)
		for _, c := range []struct {
			name  string
			first bool // the call ends before the client reconnects
		}{{"finished before", true}, {"finished later", false}} {
			t.Run(c.name, func(t *testing.T) {
				release := newGate()
				defer release.open()
				one := serveOn(t, dsn, openProject, func(c *call) (string, error) {
					tick := time.NewTicker(time.Millisecond)
					defer tick.Stop()
					for n := 1; ; n++ {
						c.progress(n) // so that the server notices the lost connection
						select {
						case <-tick.C:
						case <-release.c:
							return okResult, nil
						case <-c.Done():
							return "", c.Err()
						}
					}
				})
				two := serveOn(t, dsn, "", nil, func(o *mcp.Options) { o.KeepAlive = 10 * time.Millisecond })
				session := one.session(t)
				id := one.cutCall(t, session)
				routestest.Eventually(t, "the lost connection is noticed", func() bool { return one.open() == 0 })
				if c.first {
					release.open()
					routestest.Eventually(t, "the result is stored", func() bool { return countFinished(t, one) == 1 })
				}
				stream := two.resume(t, session, id)
				if !c.first {
					if block := stream.block(); !strings.HasPrefix(block, "id: ") {
						t.Errorf("first event: %q", block)
					}
					stream.block() // a comment: it waits
					release.open()
				}
				stream.want(okAnswer)
				stream.want("")
				if status, _, body := one.get(t, resumption(session, stream.id)); status != 405 {
					t.Errorf("after the result: %d %s", status, body)
				}
				var row models.FinishedResult
				noError(t, one.Services.DB.First(&row).Error)
				if strings.Contains(row.Result, "content") || strings.Contains(row.Session, session) {
					t.Errorf("stored in cleartext: %+v", row)
				}
				if status, _, _ := two.get(t, request{method: http.MethodDelete, header: header("Mcp-Session-Id", session)}); status != 204 {
					t.Errorf("DELETE: %d", status)
				}
				if n := countFinished(t, two); n != 0 {
					t.Errorf("%d results of an ended session are stored", n)
				}
			})
		}
	})
}

func TestResumeRequirements(t *testing.T) {
	s := serve(t, `{"projects":{"p":{"authMode":"api_key"}}}`, func(c *call) (string, error) {
		c.progress(1)
		return okResult, nil
	}, func(o *mcp.Options) { o.KeepAlive = 10 * time.Millisecond })
	keyID, key := s.Key(t, "p", time.Hour)
	_, otherKey := s.Key(t, "p", time.Hour)
	mine, theirs := "Bearer "+key, "Bearer "+otherKey
	session, other := s.session(t, "Authorization", mine), s.session(t, "Authorization", mine)
	id := s.cutCall(t, session, "Authorization", mine)
	for _, c := range []struct {
		name   string
		r      request
		status int
	}{
		{"a wrong id", resumption(session, "7", "Authorization", mine), 400},
		{"another session", resumption(other, id, "Authorization", mine), 400},
		{"the session as an id", resumption(session, session, "Authorization", mine), 400},
		{"another caller", resumption(session, id, "Authorization", theirs), 404},
		{"no key", resumption(session, id), 401},
		{"no session", request{header: header("Accept", "text/event-stream", "Last-Event-ID", id, "Authorization", mine)}, 405},
		{"no stream accepted", resumption(session, id, "Authorization", mine, "Accept", "application/json"), 405},
		{"stateless", resumption(session, id, "Authorization", mine, "MCP-Protocol-Version", "2026-07-28"), 405},
	} {
		t.Run(c.name, func(t *testing.T) {
			if status, _, body := s.get(t, c.r); status != c.status {
				t.Errorf("%d, want %d: %s", status, c.status, body)
			}
		})
	}
	t.Run("older revision", func(t *testing.T) {
		stream := s.stream(t, resumption(session, id, "Authorization", mine, "MCP-Protocol-Version", "2025-06-18"))
		if block := stream.block(); block != ": \n" {
			t.Errorf("the stream of the session begins with %q", block)
		}
		for name, more := range map[string][]string{"older": {"MCP-Protocol-Version", "2025-06-18", "Mcp-Session-Id", session}, "no session": {"MCP-Protocol-Version", latestHandshake}} {
			call := s.stream(t, request{body: toolCall, header: legacyHeader(append(more, "Authorization", mine)...)})
			if block := call.block(); !strings.HasPrefix(block, "event: message\n") {
				t.Errorf("%s: the stream begins with %q", name, block)
			}
		}
	})
	t.Run("long request id", func(t *testing.T) {
		for length, resumable := range map[int]bool{255: true, 256: true, 257: false} {
			body := strings.Replace(toolCall, `"id":7`, `"id":"`+strings.Repeat("x", length-2)+`"`, 1)
			call := s.stream(t, request{body: body, header: legacyHeader("Mcp-Session-Id", session, "Authorization", mine)})
			if block := call.block(); strings.HasPrefix(block, "id: ") != resumable {
				t.Errorf("%d bytes: the stream begins with %.100q", length, block)
			}
		}
	})
	t.Run("revoked key", func(t *testing.T) {
		stream := s.resume(t, session, id, "Authorization", mine)
		stream.want(okAnswer)
		project, err := s.Services.Directory.Project("p")
		noError(t, err)
		noError(t, s.Services.Keys.Revoke(t.Context(), project.Project.ID, keyID))
		if status, _, body := s.get(t, resumption(session, id, "Authorization", mine)); status != 401 {
			t.Errorf("%d %s", status, body)
		}
	})
	if status, _, body := s.get(t, request{method: http.MethodDelete, header: header("Mcp-Session-Id", session, "Authorization", mine)}); status != 401 {
		t.Errorf("DELETE with a revoked key: %d %s", status, body)
	}
}

// TestResumeEndedSession ends sessions whose clients wait for a result.
func TestResumeEndedSession(t *testing.T) {
	release := newGate()
	defer release.open()
	s := serve(t, openProject, steps(release), func(o *mcp.Options) { o.KeepAlive = 10 * time.Millisecond })
	session := s.session(t)
	stream := s.resume(t, session, s.cutCall(t, session))
	if status, _, _ := s.get(t, request{method: http.MethodDelete, header: header("Mcp-Session-Id", session)}); status != 204 {
		t.Errorf("DELETE: %d", status)
	}
	if got, err := io.ReadAll(stream.body); err != nil || strings.Contains(string(got), `"result"`) {
		t.Errorf("%s, %v", got, err)
	}
	if status, _, body := s.get(t, resumption(session, stream.id)); status != 404 {
		t.Errorf("after the end of the session: %d %s", status, body)
	}
}

// TestCancelledCallResumes cancels a call whose client has lost its stream.
func TestCancelledCallResumes(t *testing.T) {
	release := newGate()
	defer release.open()
	s := serve(t, openProject, steps(release))
	session := s.session(t)
	stream := s.resume(t, session, s.cutCall(t, session))
	s.get(t, request{body: `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`, header: legacyHeader("Mcp-Session-Id", session)})
	stream.want("")
	if status, _, body := s.get(t, resumption(session, stream.id)); status != 405 {
		t.Errorf("after the last event: %d %s", status, body)
	}
}

// TestQuestionAfterReconnect sends a request to a client that has lost its stream.
func TestQuestionAfterReconnect(t *testing.T) {
	lost := newGate()
	defer lost.open()
	s := serve(t, openProject, func(c *call) (string, error) {
		c.progress(1)
		lost.wait(t, "the connection is lost")
		return elicits(c)
	})
	session := s.session(t)
	id := s.cutCall(t, session)
	lost.open()
	stream := s.resume(t, session, id)
	question := stream.next()
	s.get(t, request{body: `{"jsonrpc":"2.0","id":` + idOf(t, question) + `,"result":{"action":"accept"}}`, header: legacyHeader("Mcp-Session-Id", session)})
	if got := stream.next(); !strings.Contains(got, `accept`) {
		t.Errorf("got %s", got)
	}
}

// TestReleasedCall checks that a response becomes a stream when the upstream
// server ends its own in mid-call.
func TestReleasedCall(t *testing.T) {
	s := serve(t, openProject, func(c *call) (string, error) {
		if c.OpenStream != nil {
			c.OpenStream()
		}
		return okResult, nil
	})
	session := s.session(t)
	stream := s.stream(t, request{body: toolCall, header: legacyHeader("Mcp-Session-Id", session)})
	stream.want(okAnswer)
	for name, h := range map[string]map[string]string{
		"older":      legacyHeader("Mcp-Session-Id", session, "MCP-Protocol-Version", "2025-06-18"),
		"no session": legacyHeader(),
		"JSON":       header("Accept", "application/json", "Mcp-Session-Id", session),
	} {
		if _, h, body := s.get(t, request{body: toolCall, header: h}); h.Get("Content-Type") != "application/json" || body != okAnswer {
			t.Errorf("%s: %s %s", name, h.Get("Content-Type"), body)
		}
	}
}

// TestUpstreamReleasesCall checks that a call becomes a stream when its server
// ends the stream and sends the result after a GET.
func TestUpstreamReleasesCall(t *testing.T) {
	up := upstreamtest.New(upstreamtest.Options{Eras: []upstreamtest.Era{upstreamtest.Era20251125}, Tools: upstreamtest.Standard(1), Resumable: true})
	s := serve(t, `{"projects":{"p":{"authMode":"none","mcpServers":{"up":{"url":"`+up.Start(t)+`"}}}}}`, nil)
	s.Sync(t, "p", "up")
	session := s.session(t)
	call := request{body: `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"up__echo","arguments":{"text":"x"}}}`}
	for _, c := range []struct {
		name   string
		header map[string]string
		stream bool
	}{
		{"session", legacyHeader("Mcp-Session-Id", session), true},
		{"older revision", legacyHeader("Mcp-Session-Id", session, "MCP-Protocol-Version", "2025-06-18"), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			up.SetFault(upstreamtest.Fault{On: upstreamtest.OnCall, Kind: upstreamtest.CutStream, Retry: time.Millisecond})
			call.header = c.header
			_, h, body := s.get(t, call)
			if got := h.Get("Content-Type") == "text/event-stream"; got != c.stream || strings.HasPrefix(body, "id: ") != c.stream || !strings.Contains(body, `"text":"x"`) {
				t.Errorf("%s: %s", h.Get("Content-Type"), body)
			}
		})
	}
}
