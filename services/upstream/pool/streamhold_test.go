package pool_test

import (
	"testing"
	"time"

	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/pool"
)

// TestStreamsHeldPerClient checks that the GET stream of a client's own session
// is open while the client's is, even without calls.
func TestStreamsHeldPerClient(t *testing.T) {
	inLoggerWorld(t, func(t *testing.T, l *logger, p *pool.Pool) {
		to := target("http://log.example/mcp", within(time.Hour), perClient)
		ann, bob := &logClient{name: "ann"}, &logClient{name: "bob"}
		early := p.HoldStreams("ann") // before the upstream session starts
		mustCall(t, p, to, ann.calls("now", ""))
		mustCall(t, p, to, bob.calls("now", ""))
		time.Sleep(2 * time.Hour) // idle sessions are closed, but not held ones
		if n := l.say("notifications/message", `{"level":"info"}`); n != 1 {
			t.Errorf("%d GET streams are open, want that of ann", n)
		}
		if a, b := ann.take(), bob.take(); len(a) != 1 || len(b) != 0 {
			t.Errorf("ann got %q, bob %q", a, b)
		}
		again := p.HoldStreams("ann") // another stream of the client
		early()
		early()
		time.Sleep(time.Hour)
		if n := l.say("x/custom", "{}"); n != 1 {
			t.Errorf("%d GET streams are open while one of two is, want 1", n)
		}
		again()
		time.Sleep(30*time.Second - 1)
		if n := l.say("x/custom", "{}"); n != 1 {
			t.Errorf("%d GET streams are open before 30 s, want 1", n)
		}
		time.Sleep(time.Nanosecond)
		if n := l.say("x/custom", "{}"); n != 0 {
			t.Errorf("%d GET streams are open after 30 s, want 0", n)
		}
		mustCall(t, p, to, bob.calls("now", ""))
		late := p.HoldStreams("bob") // after the upstream session started
		if n := l.say("x/custom", "{}"); n != 1 {
			t.Errorf("%d GET streams are open, want that of bob", n)
		}
		late()
	})
}

// TestHoldKeepsSession checks that Hold opens the session of a client with its
// GET stream, and keeps both between calls.
func TestHoldKeepsSession(t *testing.T) {
	inLoggerWorld(t, func(t *testing.T, l *logger, p *pool.Pool) {
		to := target("http://log.example/mcp", within(time.Hour))
		release := p.Hold(t.Context(), to, upstream.Client{SessionID: "ann"})
		time.Sleep(2 * time.Hour)
		if n := l.say("notifications/message", "{}"); n != 1 {
			t.Errorf("%d GET streams are open, want 1", n)
		}
		release()
		release()
		time.Sleep(30 * time.Second)
		if n := l.say("notifications/message", "{}"); n != 0 {
			t.Errorf("%d GET streams are open after the release, want 0", n)
		}
		alone := target("http://log.example/mcp", within(time.Hour), perClient)
		p.Hold(t.Context(), alone, upstream.Client{})() // no later call uses the session
		if l.sessions != 1 {
			t.Errorf("%d sessions were opened, want 1", l.sessions)
		}
	})
}
