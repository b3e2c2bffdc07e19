package rows_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/runners"
	"mcpgateway/services/runners/rows"
)

var local = runners.Peer{Source: models.SourceLocal}

func TestReplicaIsLiveFor30Seconds(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		one := w.join(t)
		live := func() bool {
			ids, err := w.join(t).Live(t.Context())
			must(t, err)
			return slices.Contains(ids, one.Replica())
		}
		for _, step := range []struct {
			after time.Duration
			want  bool
		}{{0, true}, {rows.Lifetime - time.Millisecond, true}, {time.Millisecond, false}, {time.Millisecond, false}} {
			w.Advance(step.after)
			if got := live(); got != step.want {
				t.Errorf("after another %s: live = %t, want %t", step.after, got, step.want)
			}
		}
		must(t, one.Beat(t.Context()))
		if !live() {
			t.Error("replica is not live after a heartbeat")
		}
	})
}

func TestProgramsOfThisMachineAreDeclared(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		files, memory := w.server(t, "files", models.SourceLocal, "files"), w.server(t, "memory", models.SourceLocal, "memory")
		w.server(t, "remote", models.SourceLocal, "")
		w.server(t, "other", models.SourceNone, "")
		one := w.join(t)
		if d := cmp.Diff(map[string]string{"files": files, "memory": memory}, one.listed(t, local, "files", "memory", "new")); d != "" {
			t.Errorf("ids (-want +got):\n%s", d)
		}
		w.wantHidden(t, "both listed", map[string]bool{"files": false, "memory": false, "remote": false, "other": false})
		before := w.revision(t)
		one.listed(t, local, "files")
		w.wantHidden(t, "one listed", map[string]bool{"files": false, "memory": true, "remote": false, "other": false})
		if w.revision(t) != before+1 {
			t.Error("change of the list was not announced")
		}
		one.listed(t, local, "files")
		if w.revision(t) != before+1 {
			t.Error("an equal list was announced")
		}
		one.listed(t, local, "memory", "files")
		w.wantHidden(t, "both listed again", map[string]bool{"files": false, "memory": false, "remote": false, "other": false})
		if d := cmp.Diff([]string{"server.undeclared memory", "server.declared memory"}, w.audit(t)); d != "" {
			t.Errorf("audit log (-want +got):\n%s", d)
		}
	})
}

func TestServersOfFilesWithURLsAreDeclared(t *testing.T) {
	w := newWorld(t, modelstest.SQLite(t))
	remote, other := w.server(t, "remote", models.SourceLocal, ""), w.server(t, "other", models.SourceLocal, "")
	w.server(t, "files", models.SourceLocal, "files")
	one := w.join(t)
	must(t, one.Declare(t.Context(), map[string]string{remote: "", other: "", "unknown": ""}))
	w.wantHidden(t, "both declared", map[string]bool{"remote": false, "other": false, "files": false})
	must(t, one.Declare(t.Context(), map[string]string{remote: ""}))
	w.wantHidden(t, "one declared", map[string]bool{"remote": false, "other": true, "files": false})
	must(t, one.Declare(t.Context(), nil))
	w.wantHidden(t, "none declared", map[string]bool{"remote": true, "other": true, "files": false})
}

func TestServerStaysWhileALiveReplicaDeclaresIt(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.server(t, "files", models.SourceConfig, "p/files")
		config := runners.Peer{Source: models.SourceConfig}
		one, two := w.join(t), w.join(t)
		id := one.listed(t, config, "p/files")["p/files"]
		two.listed(t, config, "p/files")
		must(t, one.Beat(t.Context()))
		if !one.Elsewhere(id) || one.Elsewhere("other") {
			t.Error("the other replica's declaration is not known")
		}
		one.listed(t, config)
		w.wantHidden(t, "the other declares it", map[string]bool{"files": false})
		two.listed(t, config)
		w.wantHidden(t, "none declares it", map[string]bool{"files": true})
		two.listed(t, config, "p/files")
		w.wantHidden(t, "one declares it", map[string]bool{"files": false})

		// The second replica dies.
		w.Advance(rows.Lifetime - time.Millisecond)
		must(t, one.Beat(t.Context()))
		must(t, one.Sweep(t.Context()))
		w.wantHidden(t, "before its lifetime ends", map[string]bool{"files": false})
		w.Advance(time.Millisecond)
		must(t, one.Sweep(t.Context()))
		w.wantHidden(t, "after its lifetime", map[string]bool{"files": true})
		must(t, one.Beat(t.Context()))
		if one.Elsewhere(id) {
			t.Error("the dead replica's declaration is still known")
		}

		// It was only asleep.
		must(t, two.Beat(t.Context()))
		w.wantHidden(t, "after it woke up", map[string]bool{"files": false})
		if d := cmp.Diff([]string{"server.undeclared files", "server.declared files", "server.undeclared files", "server.declared files"}, w.audit(t)); d != "" {
			t.Errorf("audit log (-want +got):\n%s", d)
		}
	})
}

func TestReplicaThatStartsHidesNothing(t *testing.T) {
	w := newWorld(t, modelstest.SQLite(t))
	w.server(t, "files", models.SourceLocal, "files")
	one := w.join(t)
	w.Advance(rows.Lifetime - time.Millisecond)
	must(t, one.Sweep(t.Context()))
	w.wantHidden(t, "before the runner could list", map[string]bool{"files": false})
	w.Advance(time.Millisecond)
	must(t, one.Sweep(t.Context()))
	w.wantHidden(t, "without a runner", map[string]bool{"files": true})
}
