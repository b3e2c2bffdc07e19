package pool_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/pool"
	"mcpgateway/services/upstream/upstreamtest"
)

// inProcess passes requests to a handler without a network, so that time can be
// virtual.
type inProcess struct{ http.Handler }

func (h inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result(), nil
}

// counting responds like an upstream with sessions and counts requests.
type counting struct {
	mu   sync.Mutex
	seen map[string]int
}

func (c *counting) count(what string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen[what]++
	return c.seen[what]
}

// now returns the counts after all goroutines are idle.
func (c *counting) now() map[string]int {
	synctest.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.seen)
}

func (c *counting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodDelete {
		c.count("DELETE")
		return
	}
	m := received(r)
	n := c.count(m.Method)
	switch m.Method {
	case "server/discover":
		w.WriteHeader(http.StatusNotFound)
	case "initialize":
		w.Header().Set("Mcp-Session-Id", fmt.Sprint("s", n))
		writeJSON(w, `{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":{"protocolVersion":"2025-06-18"}}`)
	case "notifications/initialized":
		w.WriteHeader(http.StatusAccepted)
	default:
		writeJSON(w, `{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":{}}`)
	}
}

func TestIdleSessionsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &counting{seen: map[string]int{}}
		p := pool.New(&http.Client{Transport: inProcess{c}}, "1")
		defer p.Close()
		to := target("http://idle.example/mcp", func(t *upstream.Target) { t.SessionMode = models.SessionPerClient })
		call := func(client string) {
			t.Helper()
			if _, err := p.Call(t.Context(), to, &upstream.Request{Method: "x/y", Client: upstream.Client{SessionID: client}}); err != nil {
				t.Fatal(err)
			}
		}
		call("ann")
		for range 2 { // bob uses his session
			time.Sleep(20 * time.Minute)
			call("bob")
		}
		if seen := c.now(); seen["initialize"] != 2 || seen["DELETE"] != 1 {
			t.Fatalf("after 40 minutes: %v", seen)
		}
		call("bob")
		call("ann")
		if seen := c.now(); seen["initialize"] != 3 {
			t.Errorf("ann needs a new session, bob does not: %v", seen)
		}
	})
}

func TestSessionLimit(t *testing.T) {
	const limit = 1000
	synctest.Test(t, func(t *testing.T) {
		c := &counting{seen: map[string]int{}}
		p := pool.New(&http.Client{Transport: inProcess{c}}, "1")
		defer p.Close()
		to := target("http://many.example/mcp", func(t *upstream.Target) { t.SessionMode = models.SessionPerClient })
		call := func(client int) {
			t.Helper()
			if _, err := p.Call(t.Context(), to, &upstream.Request{Method: "x/y", Client: upstream.Client{SessionID: fmt.Sprint(client)}}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			time.Sleep(time.Millisecond) // so that the idle times differ
		}
		for i := range limit {
			call(i)
		}
		if seen := c.now(); seen["initialize"] != limit || seen["DELETE"] != 0 {
			t.Fatalf("%d sessions: %v", limit, seen)
		}
		call(0)
		call(limit) // closes the session of client 1, whose call is the oldest
		if seen := c.now(); seen["DELETE"] != 1 {
			t.Errorf("%d sessions: %v", limit+1, seen)
		}
		call(0)
		if seen := c.now(); seen["initialize"] != limit+1 {
			t.Errorf("a more recently used session was closed: %v", seen)
		}
		call(1)
		if seen := c.now(); seen["initialize"] != limit+2 {
			t.Errorf("wrong session was closed: %v", seen)
		}
	})
}

func TestSessionsInUseAreNotEvicted(t *testing.T) {
	const limit, busy = 1000, 63
	synctest.Test(t, func(t *testing.T) {
		c, proceed := &counting{seen: map[string]int{}}, make(chan struct{})
		upstreamOf := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("X-Wait") != "" && r.Header.Get("Mcp-Session-Id") != "" && r.Method == http.MethodPost {
				<-proceed
			}
			c.ServeHTTP(w, r)
		})
		p := pool.New(&http.Client{Transport: inProcess{upstreamOf}}, "1")
		defer p.Close()
		to := target("http://busy.example/mcp", func(t *upstream.Target) {
			t.SessionMode = models.SessionPerClient
			t.Headers = func(ctx context.Context) (http.Header, error) {
				wait, _ := ctx.Value(waitKey{}).([]string)
				return http.Header{"X-Wait": wait}, nil
			}
		})
		call := func(ctx context.Context, client int) error {
			_, err := p.Call(ctx, to, &upstream.Request{Method: "x/y", Client: upstream.Client{SessionID: fmt.Sprint(client)}})
			return err
		}
		quick := context.WithValue(t.Context(), waitKey{}, []string(nil))
		slow := context.WithValue(t.Context(), waitKey{}, []string{"1"})
		for i := range limit {
			if err := call(quick, i); err != nil {
				t.Fatal(err)
			}
		}
		var all sync.WaitGroup
		for i := range busy {
			all.Go(func() {
				if err := call(slow, i); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		for i := range limit - busy { // each closes the longest idle session
			if err := call(quick, limit+i); err != nil {
				t.Fatal(err)
			}
		}
		close(proceed)
		all.Wait()
		synctest.Wait()
		if seen := c.now(); seen["initialize"] != 2*limit-busy || seen["DELETE"] != limit-busy {
			t.Errorf("with %d sessions in use: %v", busy, seen)
		}
		for i := range busy {
			if err := call(quick, i); err != nil {
				t.Error(err)
			}
		}
		if seen := c.now(); seen["initialize"] != 2*limit-busy {
			t.Errorf("a session in use was closed: %v", seen)
		}
	})
}

type waitKey struct{}

func TestStatelessDescriptionIsRefreshed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := upstreamtest.New(upstreamtest.Options{Tools: upstreamtest.Standard(2)})
		defer s.Close()
		p := pool.New(&http.Client{Transport: inProcess{s}}, "1")
		defer p.Close()
		for _, step := range []struct {
			wait   time.Duration
			probes int
		}{{0, 1}, {59 * time.Second, 1}, {time.Second, 1}, {time.Millisecond, 2}, {time.Second, 2}} {
			time.Sleep(step.wait)
			if _, _, _, err := p.ListTools(t.Context(), target("http://stateless.example/mcp")); err != nil {
				t.Fatal(err)
			}
			if n := len(s.Requests("server/discover")); n != step.probes {
				t.Errorf("%d probes, want %d", n, step.probes)
			}
		}
	})
}
