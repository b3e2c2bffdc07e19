//go:build linux || darwin

package bridge_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mcpgateway/services/upstream/wire"
)

// send sends a message to the bridge in this process.
func (h *host) send(session, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
	r.Header.Set("Accept", wire.AcceptAnswers)
	r.Header.Set("Content-Type", wire.TypeJSON)
	if session != "" {
		r.Header.Set(wire.HeaderSession, session)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// TestCancelledCallsEnd sends a question after another client has cancelled a call: while
// the program may continue that call, the question could belong to it.
func TestCancelledCallsEnd(t *testing.T) {
	t.Parallel()
	const limit, lateLog = 5 * time.Second, 250 * time.Millisecond
	for _, c := range []struct {
		what    string
		answers bool // the program responds to the cancelled call
		after   time.Duration
		asked   bool
	}{
		{"at once", false, 0, false},
		{"at the limit", false, limit, false},
		{"after the limit", false, limit + 1, true},
		{"after its response", true, lateLog + 1, true},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				hanging, asking := "", ""
				h := newHost(t, lineProgram(func(line string, write func(string)) bool {
					switch {
					case shake(line, write):
					case strings.Contains(line, `"hang"`):
						hanging = line
					case strings.Contains(line, "notifications/cancelled") && c.answers:
						respond(hanging, write, `{"content":[]}`)
					case strings.Contains(line, `"ask"`):
						asking = line
						write(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"a log message"}}`)
						write(`{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{}}`)
					case strings.Contains(line, `"id":"q"`):
						respond(asking, write, `{"content":[]}`)
					}
					return false
				}))
				sessions := make([]string, 2)
				for i := range sessions {
					w := h.send("", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"elicitation":{}},"clientInfo":{"name":"t","version":"1"}}}`)
					if sessions[i] = w.Header().Get(wire.HeaderSession); sessions[i] == "" {
						t.Fatalf("no session: %s", w.Body)
					}
				}
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					h.send(sessions[0], `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"hang"}}`)
				}()
				synctest.Wait()
				h.send(sessions[0], `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`)
				<-ended
				synctest.Wait()
				time.Sleep(c.after)
				var response *httptest.ResponseRecorder
				done := make(chan struct{})
				go func() {
					defer close(done)
					response = h.send(sessions[1], `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"ask"}}`)
				}()
				synctest.Wait()
				h.awaitStop() // a call with a question has no response before
				<-done
				got := response.Body.String()
				if strings.Contains(got, "elicitation/create") != c.asked || strings.Contains(got, "a log message") != c.asked {
					t.Errorf("the second client received %s, want a question and a log message: %v", got, c.asked)
				}
			})
		})
	}
}
