package inventory_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/inventory"
	"mcpgateway/services/upstream/upstreamtest"
)

// awaited is a context that reports when its Done method is called. From then
// on the caller shares the run.
type awaited struct {
	context.Context
	once   sync.Once
	joined chan struct{}
}

func (a *awaited) Done() <-chan struct{} {
	a.once.Do(func() { close(a.joined) })
	return a.Context.Done()
}

// TestSyncStartsAfterRequest checks that a caller sees every change before its
// call, even during an earlier run, and also the changes of that run.
func TestSyncStartsAfterRequest(t *testing.T) {
	tool := func(name, title string) string {
		return `{"name":"` + name + `","title":"` + title + `","inputSchema":{"type":"object"}}`
	}
	lists := [][]string{
		{tool("stays", ""), tool("changes", ""), tool("goes", ""), tool("returns", ""), tool("returns as it was", "")},
		{tool("stays", ""), tool("changes", "1"), tool("new", ""), tool("new and changed", ""), tool("a moment", "")},
		{tool("stays", ""), tool("changes", "2"), tool("new", ""), tool("new and changed", "2"), tool("newer", ""), tool("returns", "2"), tool("returns as it was", "")},
	}
	entered, release := make(chan struct{}), make(chan struct{})
	var listed atomic.Int64
	opts := upstreamtest.Options{Methods: map[string]upstreamtest.Handler{
		"tools/list": func(ctx context.Context, _ *upstreamtest.Call) upstreamtest.Result {
			n := listed.Add(1)
			if n == 2 {
				close(entered)
				select {
				case <-release:
				case <-ctx.Done():
				}
			}
			return upstreamtest.JSON(`{"tools":[` + strings.Join(lists[min(n, 3)-1], ",") + `]}`)
		},
	}}
	w := newSyncWorld(t, modelstest.Open(t, modelstest.SQLite(t)), opts)
	w.mustSync(t)
	first := make(chan inventory.SyncResult, 1)
	go func() {
		r, err := w.Sync(t.Context(), "s")
		if err != nil {
			t.Error(err)
		}
		first <- r
	}()
	<-entered
	second := &awaited{Context: testContext(t), joined: make(chan struct{})}
	go func() {
		<-second.joined
		close(release)
	}()
	r, err := w.Sync(second, "s")
	if err != nil {
		t.Fatal(err)
	}
	if want := "+[newer new and changed new] ~[returns returns as it was changes] -[goes] =7"; changed(r) != want {
		t.Errorf("second sync: %s, want %s", changed(r), want)
	}
	if r, want := <-first, "+[new new and changed a moment] ~[changes] -[goes returns returns as it was] =5"; changed(r) != want {
		t.Errorf("first sync: %s, want %s", changed(r), want)
	}
}

func TestConcurrentSyncsShareRun(t *testing.T) {
	eachSyncWorld(t, upstreamtest.Options{Tools: plainTools("a")}, func(t *testing.T, w *syncWorld) {
		var runs int
		begun, release := make(chan struct{}, 8), make(chan struct{})
		w.beforeList(func() {
			runs++
			begun <- struct{}{}
			<-release
		})
		first := make(chan error, 1)
		started, leave := context.WithCancel(testContext(t))
		go func() {
			_, err := w.Sync(started, "s")
			first <- err
		}()
		<-begun
		gone, cancel := context.WithCancel(testContext(t))
		cancel()
		for range 5 { // each joins the run and leaves immediately
			if _, err := w.Sync(gone, "s"); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		}
		leave() // the run continues without the caller that started it
		if err := <-first; !errors.Is(err, context.Canceled) {
			t.Errorf("caller that left: %v", err)
		}
		joined := make(chan inventory.SyncResult, 1)
		go func() {
			r, err := w.Sync(testContext(t), "s")
			if err != nil {
				t.Error(err)
			}
			joined <- r
		}()
		close(release)
		if r := <-joined; r.Total != 1 {
			t.Errorf("got %s", changed(r))
		}
		if len(w.tools(t)) != 1 || runs > 2 {
			t.Errorf("%d runs stored %d tools", runs, len(w.tools(t)))
		}
		select {
		case <-begun: // the last caller may have arrived after the end
			if runs != 2 {
				t.Errorf("%d runs", runs)
			}
		default:
			if runs != 1 {
				t.Errorf("%d runs", runs)
			}
		}
	})
}

func TestServersSyncIndependently(t *testing.T) {
	eachSyncWorld(t, upstreamtest.Options{Tools: plainTools("a")}, func(t *testing.T, w *syncWorld) {
		var row models.Server
		if err := w.db.First(&row, "id = ?", "s").Error; err != nil {
			t.Fatal(err)
		}
		hanging := upstreamtest.New(upstreamtest.Options{})
		hanging.SetFault(upstreamtest.Fault{Kind: upstreamtest.Hang})
		row.ID, row.Alias, row.AliasFold, row.URL = "t", "slow", "slow", hanging.Start(t)
		if err := w.db.Create(&row).Error; err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(testContext(t))
		slow := make(chan error, 1)
		go func() {
			_, err := w.Sync(ctx, "t")
			slow <- err
		}()
		w.mustSync(t)
		cancel()
		if err := <-slow; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		hanging.Close() // ends the shared run, and its outcome is still recorded
		deadline := testContext(t)
		for {
			var n int64
			if err := w.db.Model(&models.Inventory{}).Where("server_id = ?", "t").Count(&n).Error; err != nil {
				t.Fatal(err)
			}
			if n == 1 {
				break
			}
			select {
			case <-deadline.Done():
				t.Fatal("outcome was not recorded")
			case <-time.After(5 * time.Millisecond):
			}
		}
	})
}
