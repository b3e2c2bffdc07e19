package inventory_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/inventory"
	"mcpgateway/services/runners/wire"
	"mcpgateway/services/toolset"
)

// snapshotOf returns a project with server b, whose row has these fields.
func snapshotOf(row models.Server, synced *time.Time) *toolset.Snapshot {
	row.ID, row.Alias, row.Enabled = "b", "b", true
	return &toolset.Snapshot{Servers: []*toolset.Server{{Config: row, Inventory: &models.Inventory{ServerID: "b", SyncedAt: synced}}}}
}

// awaits returns how long AwaitFirstReads takes.
func (w *runWorld) awaits(ctx context.Context, p *toolset.Snapshot) time.Duration {
	began := time.Now()
	w.AwaitFirstReads(ctx, p)
	return time.Since(began)
}

// declares adds the program b, whose runner is about to connect.
func (w *runWorld) declares() {
	w.programs.mu.Lock()
	w.programs.expected = true
	w.programs.mu.Unlock()
	w.edit("b", map[string]any{"source": models.SourceLocal, "entry": "notes", "enabled": true})
}

// connects connects the runner of the program b.
func (w *runWorld) connects(state wire.State) {
	w.programs.set("h1", state)
	w.ProgramChanged("b")
}

// TestListsAwaitFirstReads reads the tools of a program that starts with the
// process, at the limit of the time for which lists wait.
func TestListsAwaitFirstReads(t *testing.T) {
	const limit = inventory.FirstReadTime
	program := snapshotOf(models.Server{Source: models.SourceLocal, Entry: "notes"}, nil)
	for _, c := range []struct {
		name        string
		takes, want time.Duration
		fails       bool
	}{
		{"in time", limit - 1, limit - 1, false},
		{"too late", limit + 1, limit, false},
		{"failing", time.Second, time.Second, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			inVirtualTime(t, false, func(t *testing.T, w *runWorld) {
				hold := make(chan struct{})
				w.b.set(func(l *lister) { l.hold, l.fails = hold, c.fails })
				w.declares()
				time.AfterFunc(c.takes/2, func() { w.connects(wire.StateStopped) })
				time.AfterFunc(c.takes, func() { close(hold) })
				if got := w.awaits(t.Context(), program); got != c.want {
					t.Errorf("a list waited for %v, want %v", got, c.want)
				}
				time.Sleep(time.Second)
				if got := w.awaits(t.Context(), program); got != 0 {
					t.Errorf("the next list waited for %v", got)
				}
			})
		})
	}
}

func TestListsAwaitNothingElse(t *testing.T) {
	now := time.Now()
	program := models.Server{Source: models.SourceLocal, Entry: "notes"}
	for _, c := range []struct {
		name   string
		row    models.Server
		synced *time.Time
		state  wire.State
		known  bool
		want   time.Duration
	}{
		{"known tools", program, &now, wire.StateStarting, true, 0},
		{"a failed program", program, nil, wire.StateFailed, true, 0},
		{"a program in back-off", program, nil, wire.StateBackoff, true, 0},
		{"a held program", program, nil, wire.StateHeld, true, 0},
		{"a program of a computer that is not connected", program, nil, "", false, 0},
		{"a server with a URL", models.Server{}, nil, "", false, 0},
		{"a URL of a client's file", models.Server{Source: models.SourceLocal}, nil, "", false, inventory.FirstReadTime},
		{"a starting program", program, nil, wire.StateStarting, true, inventory.FirstReadTime},
		{"an undeclared program", models.Server{Source: models.SourceLocal, Entry: "notes", Undeclared: true}, nil, wire.StateStopped, true, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			inVirtualTime(t, false, func(t *testing.T, w *runWorld) {
				if c.known {
					w.programs.set("h1", c.state)
				}
				if got := w.awaits(t.Context(), snapshotOf(c.row, c.synced)); got != c.want {
					t.Errorf("a list waited for %v, want %v", got, c.want)
				}
			})
		})
	}
}

// TestListsAwaitNoFailedProgram waits for a program that fails before its tools
// are read, and for a client that gives up.
func TestListsAwaitNoFailedProgram(t *testing.T) {
	program := snapshotOf(models.Server{Source: models.SourceLocal, Entry: "notes"}, nil)
	inVirtualTime(t, false, func(t *testing.T, w *runWorld) {
		w.declares()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if got := w.awaits(ctx, program); got != time.Second {
			t.Errorf("the list of a client that gave up waited for %v", got)
		}
		time.AfterFunc(time.Second, func() { w.connects(wire.StateFailed) })
		if got := w.awaits(t.Context(), program); got != time.Second {
			t.Errorf("a list waited for %v", got)
		}
		synctest.Wait()
	})
}
