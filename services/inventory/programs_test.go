package inventory_test

import (
	"sync"
	"testing"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/runners/wire"
	"mcpgateway/services/upstream/upstreamtest"
)

// programs is a runner with one program.
type programs struct {
	mu    sync.Mutex
	hash  string
	state wire.State
	known bool
	// expected is the result of IsExpected.
	expected bool
}

func (p *programs) State(string) (string, wire.State, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.hash, p.state, p.known
}

func (p *programs) StartTime(string) time.Duration { return time.Minute }

func (p *programs) IsExpected(models.Server) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.expected
}

func (p *programs) set(hash string, state wire.State) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hash, p.state, p.known = hash, state, true
}

// shows changes the state and notifies the syncer.
func (w *runWorld) shows(hash string, state wire.State) {
	w.programs.set(hash, state)
	w.ProgramChanged("a")
}

func TestPlannedSyncsStartNoKnownProgram(t *testing.T) {
	inVirtualTime(t, false, func(t *testing.T, w *runWorld) {
		count := func() int { return len(w.a.seen()) }
		before := count()
		w.edit("a", map[string]any{"source": models.SourceLocal, "entry": "notes", "config_version": 2})
		for _, step := range []struct {
			name  string
			hash  string
			state wire.State
			lists int
		}{
			{"on no connection", "", "", 0},
			{"held, its tools unknown", "h1", wire.StateHeld, 0},
			{"failed, its tools unknown", "h1", wire.StateFailed, 0},
			{"in back-off, its tools unknown", "h1", wire.StateBackoff, 0},
			{"stopped, its tools unknown", "h1", wire.StateStopped, 1},
			{"stopped, its tools known", "h1", wire.StateStopped, 0},
			{"failed, its tools known", "h1", wire.StateFailed, 0},
			{"stopped with another command", "h2", wire.StateStopped, 1},
			{"stopped with that command", "h2", wire.StateStopped, 0},
			{"starting with a third command", "h3", wire.StateStarting, 1},
		} {
			if step.hash != "" {
				w.shows(step.hash, step.state)
			}
			time.Sleep(3 * time.Hour) // twelve periodic syncs
			if got := count() - before; got != step.lists {
				t.Errorf("%s: %d lists, want %d", step.name, got, step.lists)
			}
			before = count()
		}
		w.shows("h3", wire.StateRunning)
		if got := count() - before; got != 1 {
			t.Errorf("%d lists when it began to run", got)
		}
		time.Sleep(3 * time.Hour)
		if got := count() - before; got < 11 {
			t.Errorf("%d lists in three hours of running", got)
		}
		w.shows("h3", wire.StateStopped)
		before = count()
		if _, err := w.Sync(t.Context(), "a"); err != nil || count() != before+1 { // an administrator may start it
			t.Errorf("requested sync: %v, %d lists", err, count()-before)
		}
	})
}

func TestUndeclaredServersAreNotSynced(t *testing.T) {
	inVirtualTime(t, false, func(t *testing.T, w *runWorld) {
		count := func() int { return len(w.a.seen()) }
		before := count()
		w.edit("a", map[string]any{"source": models.SourceLocal, "undeclared": true})
		time.Sleep(3 * time.Hour)
		if count() != before {
			t.Errorf("%d lists of an undeclared server", count()-before)
		}
		w.edit("a", map[string]any{"undeclared": false})
		if count() != before+1 {
			t.Errorf("%d lists after its return", count()-before)
		}
	})
}

func TestSyncStoresTheHashOfTheCommand(t *testing.T) {
	t.Parallel()
	eachSyncWorld(t, upstreamtest.Options{Tools: plainTools("a")}, func(t *testing.T, w *syncWorld) {
		p := &programs{}
		w.Programs = p
		p.set("h1", wire.StateStopped)
		editServer(t, w.db, "s", map[string]any{"source": models.SourceLocal, "entry": "notes"})
		listed := func() string {
			var row models.Server
			if err := w.db.First(&row, "id = ?", "s").Error; err != nil || row.ConfigVersion != 1 {
				t.Fatalf("version %d, %v", row.ConfigVersion, err)
			}
			return row.ListedHash
		}
		w.mustSync(t)
		if got := listed(); got != "h1" {
			t.Errorf("listed hash %q", got)
		}
		w.beforeList(func() { p.set("h2", wire.StateRunning) }) // the file is reloaded during the sync
		w.mustSync(t)
		if got := listed(); got != "h1" {
			t.Errorf("listed hash %q after a sync of two commands", got)
		}
		w.mustSync(t)
		if got := listed(); got != "h2" {
			t.Errorf("listed hash %q", got)
		}
		p.set("h3", wire.StateFailed)
		w.up.SetFault(upstreamtest.Fault{On: "tools/list", Kind: upstreamtest.Status, Status: 503})
		if _, err := w.Sync(t.Context(), "s"); err == nil || listed() != "h2" {
			t.Errorf("failed sync: %v, listed hash %q", err, listed())
		}
	})
}
