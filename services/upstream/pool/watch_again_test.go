package pool_test

import (
	"context"
	"net/http"
	"slices"
	"testing"
	"time"

	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/upstreamtest"
)

func TestWatchResumesStream(t *testing.T) {
	gets := make(chan http.Header, 8)
	n := 0
	url := handmade(t, "2025-11-25", func(w http.ResponseWriter, r *http.Request, _ rpc) {
		if r.Method != http.MethodGet {
			w.WriteHeader(http.StatusOK)
			return
		}
		n++
		gets <- r.Header
		switch n {
		case 1:
			writeEvents(w, "id: e1\nretry: 1\ndata: "+`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`+"\n\n")
		case 2:
			writeEvents(w, "id: e2\ndata:\n\n")
		case 3: // the upstream no longer has the event
			w.WriteHeader(http.StatusBadRequest)
		default:
			writeEvents(w, "id: f1\ndata:\n\n")
			<-r.Context().Done()
		}
	})
	p := newPool(t)
	w := startWatch(t, p, target(url))
	var ids []string
	for range 4 {
		select {
		case h := <-gets:
			ids = append(ids, h.Get("Last-Event-Id"))
			if h.Get("Mcp-Session-Id") != "s1" || h.Get("Mcp-Protocol-Version") != "2025-11-25" || h.Get("Accept") != "text/event-stream" || h.Get("Content-Type") != "" {
				t.Errorf("request header = %v", h)
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("Last-Event-IDs = %q", ids)
		}
	}
	w.await(t, "", 2)
	if want := []string{"", "e1", "e2", ""}; !slices.Equal(ids, want) {
		t.Errorf("Last-Event-IDs = %q, want %q", ids, want)
	}
	// A resumed stream has no gap.
	if got, want := w.events(), []string{"", "tools/list_changed", ""}; !slices.Equal(got, want) {
		t.Errorf("events = %q, want %q", got, want)
	}
	p.Close()
}

func TestWatchSurvivesRestart(t *testing.T) {
	for _, era := range upstreamtest.AllEras() {
		t.Run(string(era), func(t *testing.T) {
			t.Parallel()
			opts := upstreamtest.Options{
				Eras: []upstreamtest.Era{era}, Capabilities: everything, Tools: upstreamtest.Standard(1),
				Methods: map[string]upstreamtest.Handler{"resources/subscribe": agree},
			}
			first := upstreamtest.New(opts)
			at, err := first.Listen(context.Background(), "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			p, to := newPool(t), target(at)
			w := startWatch(t, p, to)
			w.await(t, "", 1)
			release, err := p.Subscribe(testContext(t), to, "test://r")
			if err != nil {
				t.Fatal(err)
			}
			defer release()
			first.Close()
			next := upstreamtest.New(opts)
			if err := retry(func() error { _, err := next.Listen(context.Background(), hostOf(at)); return err }); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(next.Close)
			w.await(t, "", 2)
			w.await(t, "resources/updated", 1) // because updates may have been missed
			if !era.Stateless() {
				if _, err := next.WaitForRequests(testContext(t), "resources/subscribe", 1); err != nil {
					t.Fatal("resource is no longer watched")
				}
			}
			next.Notify(upstream.ResourceUpdated, []byte(`{"uri":"test://r"}`))
			w.await(t, "resources/updated", 2)
			next.SetTools(upstreamtest.Standard(2)...)
			w.await(t, "tools/list_changed", 1)
		})
	}
}

func TestWatchFollowsNewSession(t *testing.T) {
	for _, era := range []upstreamtest.Era{upstreamtest.Era20250326, upstreamtest.Era20251125} {
		s := upstreamtest.New(upstreamtest.Options{Eras: []upstreamtest.Era{era}, Tools: upstreamtest.Standard(1)})
		p, to := newPool(t), target(s.Start(t))
		w := startWatch(t, p, to)
		w.await(t, "", 1)
		// Other processes share the CPU, so one fast round is enough.
		took := time.Minute
		for n := 2; took > 10*time.Second && n < 5; n++ {
			s.DropSessions()
			mustCall(t, p, to, echo("in a new session"))
			began := time.Now()
			w.await(t, "", n)
			took = time.Since(began)
		}
		if took > 10*time.Second {
			t.Errorf("watched again after %s", took)
		}
		s.SetTools()
		w.await(t, "tools/list_changed", 1)
		p.Close()
	}
}
