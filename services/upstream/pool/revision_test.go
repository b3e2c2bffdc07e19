package pool_test

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"mcpgateway/models"
	"mcpgateway/services/egress"
	"mcpgateway/services/fault"
	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/pool"
	"mcpgateway/services/upstream/upstreamtest"
)

func pinned(revision string) func(*upstream.Target) {
	return func(t *upstream.Target) { t.ProtocolVersion = revision }
}

// offered returns the revisions that initialize requests offered, and "discover"
// for server/discover.
func offered(t *testing.T, s *upstreamtest.Server) (all []string) {
	t.Helper()
	for _, r := range s.Requests("initialize", "server/discover") {
		var m struct {
			Method string
			Params struct{ ProtocolVersion string }
		}
		if err := json.Unmarshal(r.Body, &m); err != nil {
			t.Fatal(err)
		}
		if m.Method == "server/discover" {
			m.Params.ProtocolVersion = "discover"
		}
		all = append(all, m.Params.ProtocolVersion)
	}
	return all
}

func TestPin(t *testing.T) {
	all := upstreamtest.AllEras()
	for _, tc := range []struct {
		name string
		eras []upstreamtest.Era
		pin  string
		want []string // offers
		used string
	}{
		{"auto", all, "auto", []string{"discover"}, "2026-07-28"},
		{"no pin", all, "", []string{"discover"}, "2026-07-28"},
		{"2026-07-28", all, "2026-07-28", []string{"discover"}, "2026-07-28"},
		{"2025-11-25", all, "2025-11-25", []string{"2025-11-25"}, "2025-11-25"},
		{"2025-06-18", all, "2025-06-18", []string{"2025-06-18"}, "2025-06-18"},
		{"older answer", []upstreamtest.Era{upstreamtest.Era20250326}, "2025-06-18", []string{"2025-06-18"}, "2025-03-26"},
		{"HTTP+SSE", []upstreamtest.Era{upstreamtest.Era20241105}, "2024-11-05", []string{"2024-11-05"}, "2024-11-05"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := upstreamtest.New(upstreamtest.Options{Eras: tc.eras, Tools: upstreamtest.Standard(1)})
			p, to := newPool(t), target(s.Start(t), pinned(tc.pin))
			if got := mustCall(t, p, to, echo("x")).Version; got != tc.used {
				t.Errorf("used %s, want %s", got, tc.used)
			}
			if got := offered(t, s); !slices.Equal(got, tc.want) {
				t.Errorf("offers %v, want %v", got, tc.want)
			}
		})
	}
}

func TestPinRefusesOtherRevisions(t *testing.T) {
	for _, tc := range []struct {
		name string
		eras []upstreamtest.Era
		pin  string
		text string
	}{
		{"newer answer", []upstreamtest.Era{upstreamtest.Era20251125}, "2025-06-18", "newer than the configured 2025-06-18"},
		{"2026-07-28 at an older server", []upstreamtest.Era{upstreamtest.Era20251125}, "2026-07-28", ""},
	} {
		s := upstreamtest.New(upstreamtest.Options{Eras: tc.eras, Tools: upstreamtest.Standard(1)})
		p, to := newPool(t), target(s.Start(t), pinned(tc.pin))
		for range 2 {
			_, err := p.Call(testContext(t), to, echo("x"))
			if tc.text != "" {
				wantFault(t, err, fault.CodeUpstreamInvalidResponse, tc.text)
			} else if err == nil {
				t.Errorf("%s: no error", tc.name)
			}
		}
		if s.Calls() != 0 {
			t.Errorf("%s: %d calls", tc.name, s.Calls())
		}
	}
}

// TestPinTakesListedOlderRevisions: a server that responds to 2026-07-28 with its
// older revisions is used with the newest of them.
func TestPinTakesListedOlderRevisions(t *testing.T) {
	for name, answer := range map[string]string{
		"result": `"result":{"supportedVersions":["2025-06-18","2025-11-25"],"capabilities":{}}`,
		"error":  `"error":{"code":-32022,"message":"m","data":{"supported":["2025-11-25"],"requested":"2026-07-28"}}`,
	} {
		url := handmade(t, "2025-11-25", func(w http.ResponseWriter, _ *http.Request, m rpc) {
			writeJSON(w, `{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":{"content":[]}}`)
		}, answer)
		if got := mustCall(t, newPool(t), target(url, pinned("2026-07-28")), echo("x")).Version; got != "2025-11-25" {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestNewPinReplacesSessions(t *testing.T) {
	s := upstreamtest.New(upstreamtest.Options{Tools: upstreamtest.Standard(1)})
	p, to := newPool(t), target(s.Start(t))
	for i, pin := range []string{"auto", "2025-06-18", "2026-07-28", "2025-11-25", "auto"} {
		next := target(to.URL, pinned(pin), func(t *upstream.Target) { t.Version = int64(i + 1) })
		want := pin
		if pin == "auto" {
			want = "2026-07-28"
		}
		if got := mustCall(t, p, next, echo("x")).Version; got != want {
			t.Errorf("%s: used %s", pin, got)
		}
	}
}

// learned is a pool.Revisions in memory.
type learned struct {
	mu       sync.Mutex
	revision string
	reasons  []string
}

func (l *learned) Of(string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.revision
}

func (l *learned) Learn(_ *upstream.Target, revision, reason string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.revision, l.reasons = revision, append(l.reasons, revision+" "+reason)
}

// dualEra returns a server of two eras whose tool requires input, which fails
// with fail in the stateless one. alike makes it fail in both.
func dualEra(fail upstreamtest.Result, alike bool) *upstreamtest.Server {
	return upstreamtest.New(upstreamtest.Options{
		Eras: []upstreamtest.Era{upstreamtest.Era20251125, upstreamtest.Era20260728},
		Tools: []upstreamtest.Tool{upstreamtest.Echo(), {Definition: `{"name":"ask"}`, Call: func(ctx context.Context, c *upstreamtest.Call) upstreamtest.Result {
			if c.Era.Stateless() || alike {
				return fail
			}
			return upstreamtest.Text(put(ctx, c, "elicitation/create"))
		}}},
	})
}

func learningPool(t *testing.T, l *learned) *pool.Pool {
	clients := egress.NewClients(egress.NewGuard(egress.DefaultAllow(true)))
	p := pool.New(clients.MCP(), "1", pool.WithRevisions(l))
	t.Cleanup(func() { p.Close(); clients.Close() })
	return p
}

func TestFallbackLearns(t *testing.T) {
	const goText, tsText = "server-initiated requests are not supported", "Server-to-client requests are not available in 2026-07-28"
	ask := func() *upstream.Request {
		return &upstream.Request{
			Method: "tools/call", Params: []byte(`{"name":"ask"}`), Client: upstream.Client{Capabilities: []byte(`{"elicitation":{}}`)},
			Serve: func(context.Context, string, []byte) (result, rpcError []byte) {
				return []byte(`{"action":"accept"}`), nil
			},
		}
	}
	for _, tc := range []struct {
		name  string
		fail  upstreamtest.Result
		alike bool
		edit  func(*upstream.Request)
		to    func(*upstream.Target)
		want  []string // learned after two calls
		used  string   // by the second call
	}{
		{"error of mcp-go", upstreamtest.Error(-32603, "elicit: "+goText), false, nil, nil, []string{"2025-11-25 elicit: " + goText}, "2025-11-25"},
		{"isError of mcp-go", upstreamtest.Failure(goText), false, nil, nil, []string{"2025-11-25 " + goText}, "2025-11-25"},
		{"isError of the TypeScript SDK", upstreamtest.Failure(tsText), false, nil, nil, []string{"2025-11-25 " + tsText}, "2025-11-25"},
		{"fails alike", upstreamtest.Failure(goText), true, nil, nil, []string{"2025-11-25 " + goText, "2026-07-28 " + goText}, "2025-11-25"},
		{"another error", upstreamtest.Failure("no"), false, nil, nil, nil, "2026-07-28"},
		{"a successful text", upstreamtest.Text(goText), false, nil, nil, nil, "2026-07-28"},
		{"client that can't be asked", upstreamtest.Failure(goText), false, func(r *upstream.Request) { r.Client.Capabilities = []byte(`{"extensions":{"a":{}}}`) }, nil, nil, "2026-07-28"},
		{"pinned", upstreamtest.Failure(goText), false, nil, pinned("2026-07-28"), nil, "2026-07-28"},
		{"unsaved", upstreamtest.Failure(goText), false, nil, func(t *upstream.Target) { t.ServerID = "" }, nil, "2026-07-28"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, l := dualEra(tc.fail, tc.alike), &learned{}
			p, to := learningPool(t, l), target(s.Start(t))
			if tc.to != nil {
				tc.to(to)
			}
			var used string
			for range 2 {
				r := ask()
				if tc.edit != nil {
					tc.edit(r)
				}
				resp, err := p.Call(testContext(t), to, r)
				if err != nil {
					t.Fatal(err)
				}
				used = resp.Version
			}
			if !slices.Equal(l.reasons, tc.want) || used != tc.used {
				t.Errorf("learned %q and used %s, want %q and %s", l.reasons, used, tc.want, tc.used)
			}
			if s.Calls() != 2 { // the failed call may have acted
				t.Errorf("%d calls, want 2", s.Calls())
			}
			// Calls of other clients keep the newest revision.
			if got := mustCall(t, p, to, echo("x")).Version; got != "2026-07-28" {
				t.Errorf("another client uses %s", got)
			}
			if tc.alike {
				if resp := mustCall(t, p, to, ask()); resp.Version != "2026-07-28" || len(l.reasons) != 2 {
					t.Errorf("the third call used %s and learned %q", resp.Version, l.reasons)
				}
			}
		})
	}
}

// TestRejectedHandshakeIsUnlearned: a server that no longer has the learned
// revision is called in the newest one.
func TestRejectedHandshakeIsUnlearned(t *testing.T) {
	s := upstreamtest.New(upstreamtest.Options{Eras: []upstreamtest.Era{upstreamtest.Era20260728}, Tools: upstreamtest.Standard(1)})
	l := &learned{revision: "2025-11-25"}
	p, to := learningPool(t, l), target(s.Start(t), func(t *upstream.Target) { t.Transport = models.TransportStreamableHTTP })
	r := echo("x")
	r.Client.Capabilities = []byte(`{"roots":{}}`)
	if got := mustCall(t, p, to, r).Version; got != "2026-07-28" || l.Of("") != "2026-07-28" || !strings.Contains(l.reasons[0], "rejected the handshake") {
		t.Errorf("used %s, learned %q", got, l.reasons)
	}
}
