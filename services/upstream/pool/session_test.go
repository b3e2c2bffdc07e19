package pool_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/pool"
	"mcpgateway/services/upstream/upstreamtest"
)

// handshakeEras returns the revisions with sessions.
func handshakeEras() []upstreamtest.Era {
	return []upstreamtest.Era{upstreamtest.Era20241105, upstreamtest.Era20250326, upstreamtest.Era20251125}
}

func TestConcurrentCallersShareOneSession(t *testing.T) {
	for _, era := range upstreamtest.AllEras() {
		t.Run(string(era), func(t *testing.T) {
			s := upstreamtest.New(upstreamtest.Options{Eras: []upstreamtest.Era{era}, Tools: upstreamtest.Standard(1)})
			s.SetFault(upstreamtest.Fault{On: upstreamtest.OnInitialize, Kind: upstreamtest.Delay, Latency: 30 * time.Millisecond})
			p, to := newPool(t), target(s.Start(t))
			var all sync.WaitGroup
			for i := range 40 {
				all.Go(func() {
					text := fmt.Sprint("caller ", i)
					resp, err := p.Call(testContext(t), to, echo(text))
					if err != nil || string(resp.Result) == "" || !era.Stateless() && string(resp.Result) != echoed(text) {
						t.Errorf("%s: %v", text, err)
					}
				})
			}
			all.Wait()
			if n := len(s.Requests("initialize")); !era.Stateless() && n != 1 || era.Stateless() && n != 0 {
				t.Errorf("%d handshakes", n)
			}
			if n := len(s.Requests("server/discover")); era != upstreamtest.Era20241105 && n != 1 {
				t.Errorf("%d probes", n)
			}
		})
	}
}

func TestLostSessionIsReplaced(t *testing.T) {
	for _, era := range handshakeEras() {
		t.Run(string(era), func(t *testing.T) {
			s := upstreamtest.New(upstreamtest.Options{Eras: []upstreamtest.Era{era}, Tools: upstreamtest.Standard(1)})
			p, to := newPool(t), target(s.Start(t))
			mustCall(t, p, to, echo("a"))
			probes := len(s.Requests("server/discover"))
			for range 3 {
				s.DropSessions()
				mustCall(t, p, to, echo("b"))
			}
			if n := len(s.Requests("initialize")); n != 4 {
				t.Errorf("%d handshakes, want 4", n)
			}
			if n := len(s.Requests("server/discover")); n != probes {
				t.Errorf("era was probed again: %d and then %d probes", probes, n)
			}
		})
	}
}

func TestLostSessionRetriesOnce(t *testing.T) {
	for _, status := range []int{http.StatusNotFound, http.StatusBadRequest} {
		var calls, handshakes atomic.Int64
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			m := received(r)
			switch m.Method {
			case "server/discover":
				w.WriteHeader(http.StatusBadRequest)
			case "initialize":
				w.Header().Set("Mcp-Session-Id", fmt.Sprint("s", handshakes.Add(1)))
				writeJSON(w, `{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":{"protocolVersion":"2025-06-18"}}`)
			case "notifications/initialized", "":
				w.WriteHeader(http.StatusAccepted)
			default:
				calls.Add(1)
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(status)
				_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}`)
			}
		}))
		_, err := newPool(t).Call(testContext(t), target(srv.URL), echo("x"))
		srv.Close()
		if err == nil || calls.Load() != 2 || handshakes.Load() != 2 {
			t.Errorf("HTTP %d: %d calls, %d handshakes, %v", status, calls.Load(), handshakes.Load(), err)
		}
	}
}

// switchable serves one of several handlers at one URL.
type switchable struct{ now atomic.Pointer[http.Handler] }

func (s *switchable) use(h http.Handler) { s.now.Store(&h) }

func (s *switchable) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	(*s.now.Load()).ServeHTTP(w, r)
}

func TestEraChangeIsProbed(t *testing.T) {
	for _, from := range upstreamtest.AllEras() {
		for _, to := range upstreamtest.AllEras() {
			t.Run(string(from)+" to "+string(to), func(t *testing.T) {
				var at switchable
				srv := httptest.NewServer(&at)
				defer srv.Close()
				p := newPool(t)
				defer p.Close()
				tgt := target(srv.URL + "/mcp")
				for _, era := range []upstreamtest.Era{from, to, from} {
					s := upstreamtest.New(upstreamtest.Options{Eras: []upstreamtest.Era{era}, Tools: upstreamtest.Standard(1)})
					at.use(s)
					resp := mustCall(t, p, tgt, echo("x"))
					if resp.Version != string(era) {
						t.Errorf("used %s with an upstream of %s", resp.Version, era)
					}
					s.Close() // closes its streams, like a restart
				}
			})
		}
	}
}

func TestConfiguredTransportIsExclusive(t *testing.T) {
	for _, tc := range []struct {
		fixed models.Transport
		era   upstreamtest.Era
		ok    bool
	}{
		{models.TransportSSE, upstreamtest.Era20241105, true},
		{models.TransportSSE, upstreamtest.Era20251125, false},
		{models.TransportStreamableHTTP, upstreamtest.Era20241105, false},
		{models.TransportStreamableHTTP, upstreamtest.Era20250326, true},
		{models.TransportStreamableHTTP, upstreamtest.Era20260728, true},
	} {
		s := upstreamtest.New(upstreamtest.Options{Eras: []upstreamtest.Era{tc.era}, Tools: upstreamtest.Standard(1)})
		_, err := newPool(t).Call(testContext(t), target(s.Start(t), over(tc.fixed)), echo("x"))
		if (err == nil) != tc.ok {
			t.Errorf("%s with an upstream of %s: %v", tc.fixed, tc.era, err)
		}
		for _, r := range s.Requests() {
			if (tc.fixed == models.TransportSSE) != (r.HTTPMethod == http.MethodGet) && !tc.ok {
				t.Errorf("%s sent %s %s", tc.fixed, r.HTTPMethod, r.Method)
			}
		}
	}
}

func TestHandshakeResponses(t *testing.T) {
	for _, tc := range []struct {
		name, result string
		ok           bool
	}{
		{"oldest", `"result":{"protocolVersion":"2024-11-05"}`, true},
		{"unknown but in range", `"result":{"protocolVersion":"2025-09-09"}`, true},
		{"too old", `"result":{"protocolVersion":"2024-11-04"}`, false},
		{"stateless revision", `"result":{"protocolVersion":"2026-07-28"}`, false},
		{"no date", `"result":{"protocolVersion":"2025-11-2x"}`, false},
		{"none", `"result":{}`, false},
		{"error", `"error":{"code":-32602,"message":"Unsupported protocol version"}`, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				m := received(r)
				if m.Method == "server/discover" {
					w.WriteHeader(http.StatusNotFound)
					return
				}
				if m.Method == "initialize" {
					writeJSON(w, `{"jsonrpc":"2.0","id":`+string(m.ID)+`,`+tc.result+`}`)
				}
			}))
			defer srv.Close()
			_, err := newPool(t).Describe(testContext(t), target(srv.URL))
			if tc.ok != (err == nil) {
				t.Errorf("got %v", err)
			}
			if !tc.ok {
				wantFault(t, err, fault.CodeUpstreamInvalidResponse)
			}
		})
	}
}

func TestSessionsPerClient(t *testing.T) {
	s := upstreamtest.New(upstreamtest.Options{Eras: []upstreamtest.Era{upstreamtest.Era20251125}, Tools: []upstreamtest.Tool{{
		Definition: `{"name":"whoami"}`,
		Call:       func(_ context.Context, c *upstreamtest.Call) upstreamtest.Result { return upstreamtest.Text(c.Session) },
	}}})
	p := newPool(t)
	to := target(s.Start(t), func(t *upstream.Target) { t.SessionMode = models.SessionPerClient })
	session := func(client string) string {
		r := &upstream.Request{Method: "tools/call", Params: []byte(`{"name":"whoami"}`), Client: upstream.Client{SessionID: client}}
		return textOf(t, mustCall(t, p, to, r).Result)
	}
	ann, bob := session("ann"), session("bob")
	if ann == bob || session("ann") != ann || session("bob") != bob {
		t.Error("clients do not have separate sessions")
	}
	if first, second := session(""), session(""); first == second {
		t.Error("clients without a session share one")
	}
	if err := s.Wait(testContext(t), func() bool { return s.Stats().Sessions == 2 }); err != nil {
		t.Errorf("sessions of single calls are open: %+v", s.Stats())
	}
	p.DropClient("ann")
	if err := s.Wait(testContext(t), func() bool { return s.Stats().Sessions == 1 }); err != nil {
		t.Errorf("session of a dropped client is open: %+v", s.Stats())
	}
	if session("bob") != bob || session("ann") == ann {
		t.Error("wrong session was closed")
	}
}

func TestNewConfigurationReplacesSessions(t *testing.T) {
	s := upstreamtest.New(upstreamtest.Options{Eras: []upstreamtest.Era{upstreamtest.Era20251125}, Tools: upstreamtest.Standard(2)})
	p, old := newPool(t), target(s.Start(t))
	newer := *old
	newer.Version = 2
	mustCall(t, p, old, echo("a"))

	// A call in flight uses its session until it ends.
	sleeping := make(chan error, 1)
	go func() {
		_, err := p.Call(testContext(t), old, &upstream.Request{Method: "tools/call", Params: []byte(`{"name":"sleep","arguments":{"ms":200}}`)})
		sleeping <- err
	}()
	if _, err := s.WaitForRequests(testContext(t), "tools/call", 2); err != nil {
		t.Fatal(err)
	}
	mustCall(t, p, &newer, echo("b"))
	if n := len(s.Requests("initialize")); n != 2 {
		t.Errorf("%d handshakes for two configurations", n)
	}
	if err := <-sleeping; err != nil {
		t.Errorf("call of the old configuration failed: %v", err)
	}
	if err := s.Wait(testContext(t), func() bool { return s.Stats().Sessions == 1 }); err != nil {
		t.Errorf("old session is open: %+v", s.Stats())
	}
	// A late call with the old configuration neither uses nor closes the new session.
	mustCall(t, p, old, echo("c"))
	if err := s.Wait(testContext(t), func() bool { return s.Stats().Sessions == 1 }); err != nil {
		t.Errorf("session of the late call is open: %+v", s.Stats())
	}
	before := len(s.Requests("initialize"))
	mustCall(t, p, &newer, echo("d"))
	if n := len(s.Requests("initialize")); n != before || n != 3 {
		t.Errorf("%d handshakes, %d before", n, before)
	}
}

func TestUnsavedConfigurationLeavesNoSession(t *testing.T) {
	for _, era := range handshakeEras() {
		s := upstreamtest.New(upstreamtest.Options{Eras: []upstreamtest.Era{era}, Tools: upstreamtest.Standard(3)})
		p, to := newPool(t), target(s.Start(t), func(t *upstream.Target) { t.ServerID = "" })
		tools, _, _, err := p.ListTools(testContext(t), to)
		if err != nil || len(tools) != 3 {
			t.Errorf("got %d tools, %v", len(tools), err)
		}
		if err := s.Wait(testContext(t), func() bool { return s.Stats().Sessions == 0 && s.Stats().Streams == 0 }); err != nil {
			t.Errorf("%s: %+v", era, s.Stats())
		}
		if h := p.Health(""); h.OK() {
			t.Errorf("Health() = %+v, want none", h)
		}
	}
}

func TestDropAndCloseEndSessions(t *testing.T) {
	for _, era := range handshakeEras() {
		t.Run(string(era), func(t *testing.T) {
			s := upstreamtest.New(upstreamtest.Options{Eras: []upstreamtest.Era{era}, Tools: upstreamtest.Standard(1), Token: "sesame"})
			p, to := newPool(t), target(s.Start(t))
			to.Headers = bearer("sesame")
			mustCall(t, p, to, echo("a"))
			p.Drop("srv")
			p.Drop("never seen")
			if err := s.Wait(testContext(t), func() bool { return s.Stats().Sessions == 0 && s.Stats().Streams == 0 }); err != nil {
				t.Fatalf("after Drop: %+v", s.Stats())
			}
			if h := p.Health("srv"); h.OK() {
				t.Errorf("Health() = %+v, want none", h)
			}
			mustCall(t, p, to, echo("b"))
			p.Close()
			if err := s.Wait(testContext(t), func() bool { return s.Stats().Sessions == 0 && s.Stats().Streams == 0 }); err != nil {
				t.Fatalf("after Close: %+v", s.Stats())
			}
			p.Close()
			_, err := p.Call(testContext(t), to, echo("c"))
			wantFault(t, err, fault.CodeUpstreamUnavailable, "shutting down")
		})
	}
}

func TestCloseIgnoresHangingUpstream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &counting{seen: map[string]int{}}
		p := pool.New(&http.Client{Transport: inProcess{http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodDelete {
				c.count("hanging")
				<-r.Context().Done()
				return
			}
			c.ServeHTTP(w, r)
		})}}, "1")
		defer p.Close()
		mustCall(t, p, target("http://hanging.example/mcp"), echo("a"))
		began := time.Now()
		p.Close()
		if took, seen := time.Since(began), c.now(); took > 4*time.Second || seen["hanging"] != 1 {
			t.Errorf("Close took %s, upstream received %v", took, seen)
		}
	})
}

// TestUpstreamsWithoutSessionIDs uses upstreams that respond to initialize
// without a session ID, which the specification allows (MCP 2025-11-25,
// "Session Management"). It also restarts them, which the gateway cannot
// detect.
func TestUpstreamsWithoutSessionIDs(t *testing.T) {
	for _, era := range []upstreamtest.Era{upstreamtest.Era20250326, upstreamtest.Era20250618, upstreamtest.Era20251125} {
		opts := upstreamtest.Options{Eras: []upstreamtest.Era{era}, Tools: upstreamtest.Standard(1), Sessionless: true}
		first := upstreamtest.New(opts)
		at, err := first.Listen(testContext(t), "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		p, to := newPool(t), target(at)
		mustCall(t, p, to, echo("before"))
		mustCall(t, p, to, echo("again"))
		for _, r := range first.Requests("tools/call") {
			if r.Header.Get("Mcp-Session-Id") != "" {
				t.Errorf("%s: request has a session ID", era)
			}
		}
		if n := len(first.Requests("initialize")); n != 1 {
			t.Errorf("%s: %d handshakes", era, n)
		}
		first.Close()
		next := upstreamtest.New(opts)
		if err := retry(func() error { _, err := next.Listen(testContext(t), hostOf(at)); return err }); err != nil {
			t.Fatal(err)
		}
		mustCall(t, p, to, echo("after"))
		p.Close()
		next.Close()
	}
}
