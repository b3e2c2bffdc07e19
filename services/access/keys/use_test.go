package keys_test

import (
	"maps"
	"testing"
	"time"

	"mcpgateway/services/access/accesstest"
	"mcpgateway/services/access/keys"
	"mcpgateway/services/notify"
)

func TestUseKeepsFirstSteps(t *testing.T) {
	use := &keys.Use{}
	if !use.Pending(keys.CallTool) || use.First(keys.CallTool) != nil || use.Client() != (keys.Client{}) {
		t.Fatal("new Use has steps")
	}
	use.Record(keys.CallTool, keys.Step{Tool: "a"})
	use.Record(keys.CallTool, keys.Step{Tool: "b"})
	use.RecordClient(keys.Client{Name: "probe"})
	use.RecordClient(keys.Client{Name: "one", Version: "1"})
	use.RecordClient(keys.Client{Version: "2"}) // without a name
	if got := use.First(keys.CallTool); got == nil || got.Tool != "a" || use.Pending(keys.CallTool) {
		t.Errorf("first call = %+v", got)
	}
	if got := use.Client(); got != (keys.Client{Name: "one", Version: "1"}) {
		t.Errorf("client = %+v", got)
	}
	if !use.Pending(keys.Initialize) || !use.Pending(keys.ListTools) {
		t.Error("a call completes other stages")
	}
}

func TestNilUseRecordsNothing(t *testing.T) {
	var use *keys.Use
	use.Record(keys.Initialize, keys.Step{})
	use.RecordClient(keys.Client{Name: "x"})
	if use.Pending(keys.Initialize) || use.First(keys.Initialize) != nil || use.Client() != (keys.Client{}) {
		t.Error("nil Use recorded something")
	}
}

func TestUseSurvivesReload(t *testing.T) {
	w := accesstest.OnSQLite(t)
	id, key := w.Create(t, 0)
	principal, err := w.Auth.Authenticate(t.Context(), accesstest.Project("p", "api_key"), "", "Bearer "+key)
	if err != nil {
		t.Fatal(err)
	}
	principal.Use().Record(keys.Initialize, keys.Step{Took: time.Second})
	w.Publish(t, notify.Keys("p"))
	if got := w.Index.Use("p", id).First(keys.Initialize); got == nil || got.Took != time.Second {
		t.Errorf("after a reload: %+v", got)
	}
	if w.Index.Use("q", id) != nil || w.Index.Use("p", "other") != nil {
		t.Error("Use of an unknown key")
	}
	if err := w.Keys.Revoke(t.Context(), "p", id); err != nil {
		t.Fatal(err)
	}
	if w.Index.Use("p", id) != nil {
		t.Error("Use of a revoked key")
	}
}

func TestFirstUseIsSignaledOnce(t *testing.T) {
	accesstest.Each(t, func(t *testing.T, w *accesstest.World) {
		_, key := w.Create(t, 0)
		signaled := func() bool {
			select {
			case <-w.Index.FirstUses():
				return true
			default:
				return false
			}
		}
		if signaled() {
			t.Error("signal before the first use")
		}
		w.Admits(t, key)
		if !signaled() {
			t.Error("no signal after the first use")
		}
		w.Admits(t, key)
		if signaled() {
			t.Error("signal after the second use")
		}
		if err := w.Index.SaveUse(t.Context()); err != nil {
			t.Fatal(err)
		}
		restarted := keys.NewIndex(w.DB, w.Now)
		if err := restarted.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, _, _, ok := restarted.Find("p", key); !ok {
			t.Fatal("key rejected")
		}
		select {
		case <-restarted.FirstUses():
			t.Error("signal for a key that was used before the restart")
		default:
		}
	})
}

func TestSuccessors(t *testing.T) {
	accesstest.Each(t, func(t *testing.T, w *accesstest.World) {
		first, _ := w.Create(t, 0)
		kept, _ := w.Create(t, 0)
		middle, _ := w.Rotate(t, first, time.Hour)
		last, _ := w.Rotate(t, first, 0)
		next, _ := w.Rotate(t, middle, 0)
		got, err := w.Keys.Successors(t.Context(), []string{first, kept, middle, last})
		if err != nil {
			t.Fatal(err)
		}
		if want := map[string]string{first: last, middle: next}; !maps.Equal(got, want) {
			t.Errorf("Successors() = %v, want %v", got, want)
		}
		if got, err := w.Keys.Successors(t.Context(), nil); err != nil || len(got) != 0 {
			t.Errorf("Successors of no keys = %v, %v", got, err)
		}
	})
}
