package inventory_test

import (
	"testing"
	"testing/synctest"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/toolset"
	"mcpgateway/services/upstream"
)

// attendedProject returns the project p with the server a.
func attendedProject(t *testing.T, enabled bool) *toolset.Snapshot {
	t.Helper()
	row := models.Server{ID: "a", ProjectID: "p", Alias: "a", URL: "http://a.example/mcp", Enabled: enabled, ConfigVersion: 1}
	return &toolset.Snapshot{
		Project: models.Project{ID: "p", Slug: "p"},
		Servers: []*toolset.Server{{Config: row, Target: &upstream.Target{ServerID: "a", Alias: "a", URL: row.URL, Version: 1}}},
	}
}

// failingAfter fails the test unless server a has failed, or not, after d.
func (w *runWorld) wantFailing(t *testing.T, after time.Duration, want bool) {
	t.Helper()
	time.Sleep(after) // virtual
	synctest.Wait()
	if got := w.Health("a").ConsecutiveFailures > 0; got != want {
		t.Errorf("server failing = %v after %s, want %v", got, after, want)
	}
}

func TestAttendedServerOutage(t *testing.T) {
	inVirtualTime(t, false, func(t *testing.T, w *runWorld) {
		p := attendedProject(t, true)
		w.wantFailing(t, time.Minute, false)
		w.Attend(p)
		w.a.set(func(l *lister) { l.fails, l.down = true, true })
		w.wantFailing(t, 2*time.Second, true)
		w.Attend(p)
		w.a.set(func(l *lister) { l.fails, l.down = false, false })
		w.wantFailing(t, 2*time.Second, false)
		if got := len(w.a.seen()); got != 3 {
			t.Errorf("server was listed %d times, want 3: at the start, for the outage and for its end", got)
		}
	})
}

func TestUnattendedServerOutage(t *testing.T) {
	inVirtualTime(t, false, func(t *testing.T, w *runWorld) {
		w.Attend(attendedProject(t, true))
		w.wantFailing(t, 12*time.Second, false) // the project is no longer attended
		w.a.set(func(l *lister) { l.fails, l.down = true, true })
		w.wantFailing(t, time.Minute, false)
		checks := w.a.checks()
		w.wantFailing(t, time.Minute, false)
		if got := w.a.checks() - checks; got != 0 {
			t.Errorf("%d checks without Attend, want 0", got)
		}
	})
}

func TestAttendSharesOneChecker(t *testing.T) {
	inVirtualTime(t, false, func(t *testing.T, w *runWorld) {
		for range 20 {
			w.Attend(attendedProject(t, true))
		}
		w.wantFailing(t, 2*time.Second, false)
		if got := w.a.checks(); got != 2 {
			t.Errorf("%d checks in 2 s, want 2", got)
		}
	})
}

func TestAttendSkipsDisabledServers(t *testing.T) {
	inVirtualTime(t, false, func(t *testing.T, w *runWorld) {
		w.Attend(attendedProject(t, false))
		w.wantFailing(t, 5*time.Second, false)
		if got := w.a.checks(); got != 0 {
			t.Errorf("%d checks of a disabled server, want 0", got)
		}
	})
}

func TestAttendedServerWithoutOutage(t *testing.T) {
	inVirtualTime(t, false, func(t *testing.T, w *runWorld) {
		// Only OPTIONS fails: one sync contradicts it, and no other follows.
		w.wantFailing(t, time.Minute, false)
		before := len(w.a.seen())
		w.a.set(func(l *lister) { l.down = true })
		for range 30 {
			w.Attend(attendedProject(t, true))
			w.wantFailing(t, 2*time.Second, false)
		}
		if got := len(w.a.seen()) - before; got != 1 {
			t.Errorf("server was listed %d times, want 1", got)
		}
	})
}
