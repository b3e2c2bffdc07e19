package oauthclient_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/egress"
	"mcpgateway/services/fault"
	"mcpgateway/services/oauthclient"
	"mcpgateway/services/secrets"
	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/credentials"
	"mcpgateway/services/upstream/pool"
)

// TestUpstreamSingleFlight uses an expired token concurrently in several
// processes.
func TestUpstreamSingleFlight(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		p := newProvider(t)
		first := newWorld(t, dsn, p.mcp(), options{})
		first.connect(t)
		processes := []*world{first, join(t, dsn, options{now: first.Now}), join(t, dsn, options{now: first.Now})}
		server := first.server(t)
		for _, w := range processes {
			if _, err := w.Token(t.Context(), server, ""); err != nil {
				t.Fatal(err)
			}
		}
		first.Advance(2 * time.Hour)
		const callers = 60
		got := make([]string, callers)
		var all sync.WaitGroup
		for i := range callers {
			all.Go(func() {
				v, err := processes[i%len(processes)].Token(t.Context(), server, "")
				if err != nil {
					t.Error(err)
				}
				got[i] = v.Reveal()
			})
		}
		all.Wait()
		for _, token := range got {
			if token == "" || token != got[0] {
				t.Fatalf("tokens differ: %q and %q", got[0], token)
			}
		}
		if n := p.grants("refresh_token"); n != 1 {
			t.Errorf("%d refreshes for %d callers", n, callers)
		}
	})
}

// TestLateRefreshKeepsNewerToken fails a refresh that started before a new
// authorization.
func TestLateRefreshKeepsNewerToken(t *testing.T) {
	each(t, func(t *testing.T, p *provider, w *world) {
		w.connect(t)
		received, release := make(chan struct{}), make(chan struct{})
		p.set(func() {
			p.token = func(rw http.ResponseWriter, form url.Values) bool {
				if form.Get("grant_type") != "refresh_token" {
					return false
				}
				close(received)
				<-release
				respond(rw, 400, map[string]any{"error": "invalid_grant"})
				return true
			}
		})
		w.Advance(2 * time.Hour)
		server := w.server(t)
		type outcome struct {
			v   secrets.Value
			err error
		}
		loser := make(chan outcome, 1)
		go func() {
			v, err := w.Token(t.Context(), server, "")
			loser <- outcome{v, err}
		}()
		<-received
		w.connect(t)
		newest := w.token(t)
		close(release)
		if o := <-loser; o.err != nil || o.v.Reveal() != newest {
			t.Errorf("late refresh returned the newest token: %v, %v", o.v.Reveal() == newest, o.err)
		}
		w.wantState(t, oauthclient.Connected, "")
		if w.token(t) != newest {
			t.Error("newer token lost")
		}
	})
}

// TestUpstreamStates checks which failures require an administrator and which
// are retried.
func TestUpstreamStates(t *testing.T) {
	fails := func(status int, body map[string]any) func(http.ResponseWriter, url.Values) bool {
		return func(w http.ResponseWriter, _ url.Values) bool { respond(w, status, body); return true }
	}
	cut := func(w http.ResponseWriter, _ url.Values) bool {
		c, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			_ = c.Close()
		}
		return true
	}
	for name, c := range map[string]struct {
		token  func(http.ResponseWriter, url.Values) bool
		state  oauthclient.State
		reason string
		code   fault.Code
	}{
		"invalid_grant":         {fails(400, map[string]any{"error": "invalid_grant"}), oauthclient.NeedsReauth, "invalid_grant", fault.CodeUpstreamUnauthorized},
		"invalid_client":        {fails(401, map[string]any{"error": "invalid_client"}), oauthclient.RegistrationRejected, "", fault.CodeUpstreamUnauthorized},
		"temporarily":           {fails(400, map[string]any{"error": "temporarily_unavailable"}), oauthclient.Degraded, "", fault.CodeUpstreamUnavailable},
		"500":                   {fails(500, map[string]any{"error": "invalid_grant"}), oauthclient.Degraded, "", fault.CodeUpstreamUnavailable},
		"503":                   {fails(503, nil), oauthclient.Degraded, "", fault.CodeUpstreamUnavailable},
		"429":                   {fails(429, nil), oauthclient.Degraded, "", fault.CodeUpstreamUnavailable},
		"404":                   {fails(404, nil), oauthclient.Degraded, "", fault.CodeUpstreamUnavailable},
		"closed connection":     {cut, oauthclient.Degraded, "", fault.CodeUpstreamUnavailable},
		"no token":              {fails(200, map[string]any{}), oauthclient.Degraded, "", fault.CodeUpstreamUnavailable},
		"token with line break": {fails(200, map[string]any{"access_token": "a\r\nb"}), oauthclient.Degraded, "", fault.CodeUpstreamUnavailable},
		"other type":            {fails(200, map[string]any{"access_token": "a", "token_type": "DPoP"}), oauthclient.Degraded, "", fault.CodeUpstreamUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProvider(t)
			w := onSQLite(t, p, options{})
			w.connect(t)
			old := w.token(t)
			p.set(func() { p.token = c.token })
			w.Advance(time.Hour)
			_, err := w.Token(t.Context(), w.server(t), "")
			f := want(t, err, c.code)
			s := w.wantState(t, c.state, c.reason)
			if s.ErrorCode == "" || s.ErrorText == "" || len([]rune(s.ErrorText)) > 200 {
				t.Errorf("got %+v", s)
			}
			sent := p.grants("refresh_token")
			if _, err := w.Token(t.Context(), w.server(t), ""); err == nil {
				t.Error("second Token() succeeded")
			}
			if n := p.grants("refresh_token"); n != sent {
				t.Errorf("%d requests during the backoff", n-sent)
			}
			p.set(func() { p.token = nil })
			if c.state != oauthclient.Degraded {
				w.Advance(time.Hour)
				if _, err := w.Token(t.Context(), w.server(t), ""); err == nil {
					t.Error("Token() succeeded without a new authorization")
				}
				w.connect(t)
			} else if f.RetryAfter <= 0 {
				t.Error("fault without RetryAfter")
			}
			w.Advance(time.Minute)
			if w.token(t) == old {
				t.Error("Token() = old token")
			}
			w.wantState(t, oauthclient.Connected, "")
			w.checkNoPlaintext(t, p)
		})
	}
}

func TestValidTokenSurvivesFailedRefresh(t *testing.T) {
	p := newProvider(t)
	w := onSQLite(t, p, options{})
	w.connect(t)
	token := w.token(t)
	p.set(func() { p.token = func(w http.ResponseWriter, _ url.Values) bool { w.WriteHeader(500); return true } })
	w.Advance(55 * time.Minute)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); w.Run(ctx) }()
	eventually(t, "state degraded", func() bool { return w.status(t).State == oauthclient.Degraded })
	cancel()
	<-ended
	if w.token(t) != token {
		t.Error("token changed")
	}
}

func TestBackgroundRefreshAtEightyPercent(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		p := newProvider(t)
		p.life = 1000
		w := newWorld(t, dsn, p.mcp(), options{})
		other := join(t, dsn, options{now: w.Now})
		w.connect(t)
		token := w.token(t)
		w.Advance(749 * time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		var ended sync.WaitGroup
		for _, c := range []*world{w, other} {
			ended.Go(func() { c.Run(ctx) })
		}
		if w.token(t) != token || p.grants("refresh_token") != 0 {
			t.Error("refreshed too early")
		}
		w.Advance(52 * time.Second)
		_ = w.token(t) // wakes the refresher after the clock change
		eventually(t, "one refresh", func() bool { return p.grants("refresh_token") == 1 && w.token(t) != token })
		cancel()
		ended.Wait()
		if n := p.grants("refresh_token"); n != 1 {
			t.Errorf("%d refreshes in one lifetime, want 1", n)
		}
	})
}

func TestExpiryWithoutRefreshToken(t *testing.T) {
	each(t, func(t *testing.T, p *provider, w *world) {
		p.set(func() { p.noRefresh = true })
		w.connect(t)
		token := w.token(t)
		w.Advance(50 * time.Minute)
		w.wantState(t, oauthclient.Expiring, "")
		if w.token(t) != token {
			t.Error("token changed")
		}
		w.Advance(10 * time.Minute)
		_, err := w.Token(t.Context(), w.server(t), "")
		want(t, err, fault.CodeUpstreamUnauthorized)
		w.wantState(t, oauthclient.NeedsReauth, oauthclient.ReasonNoRefreshToken)
		_, err = w.Token(t.Context(), w.server(t), "")
		want(t, err, fault.CodeUpstreamUnauthorized)
		want := []string{"connection.registered", "connection.started", "connection.connected", "connection.needs_reauth"}
		if diff := cmp.Diff(want, w.audited(t)); diff != "" {
			t.Error(diff)
		}
	})
}

// through returns a pool and a target for calls to the server.
func (w *world) through(t *testing.T) (*pool.Pool, *upstream.Target) {
	t.Helper()
	clients := egress.NewClients(egress.NewGuard(egress.DefaultAllow(true)))
	pool := pool.New(clients.MCP(), "test")
	t.Cleanup(func() { pool.Close(); clients.Close() })
	server := w.server(t)
	return pool, credentials.NewConnectedTarget(server, noSecrets{}, credentials.Rows{}, w)
}

type noSecrets struct{}

func (noSecrets) Resolve(string, string) (secrets.Value, error) { return secrets.Value{}, nil }

func call(t *testing.T, pool *pool.Pool, target *upstream.Target) error {
	t.Helper()
	_, err := pool.Call(t.Context(), target, &upstream.Request{Method: "tools/call", Params: []byte(`{"name":"echo"}`)})
	return err
}

func TestRejectedTokenIsRefreshedOnce(t *testing.T) {
	each(t, func(t *testing.T, p *provider, w *world) {
		w.connect(t)
		pool, target := w.through(t)
		if err := call(t, pool, target); err != nil {
			t.Fatal(err)
		}
		p.revokeAccess()
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				if err := call(t, pool, target); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if n := p.grants("refresh_token"); n != 1 {
			t.Errorf("%d refreshes", n)
		}
		// A server that rejects every token doesn't cause a loop.
		p.set(func() {
			p.serve = func(w http.ResponseWriter, r *http.Request) bool {
				if r.URL.Path == "/mcp" {
					w.Header().Set("WWW-Authenticate", "Bearer")
					w.WriteHeader(401)
				}
				return r.URL.Path == "/mcp"
			}
		})
		for range 5 {
			want(t, call(t, pool, target), fault.CodeUpstreamUnavailable)
		}
		if n := p.grants("refresh_token"); n != 1 {
			t.Errorf("%d refreshes", n)
		}
	})
}

func TestMissingScopesKeepTokenUsable(t *testing.T) {
	p := newProvider(t)
	p.scopes = []string{"read"}
	w := onSQLite(t, p, options{})
	w.connect(t)
	pool, target := w.through(t)
	p.set(func() {
		p.serve = func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path == "/mcp" && r.Header.Get("X-Deny") == "" && r.Method == http.MethodPost && r.ContentLength > 90 {
				w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="write"`)
				w.WriteHeader(403)
				return true
			}
			return false
		}
	})
	_, err := pool.Call(t.Context(), target, &upstream.Request{Method: "tools/call", Params: []byte(`{"name":"echo","arguments":{"text":"` + strings.Repeat("x", 60) + `"}}`)})
	if f := want(t, err, fault.CodeUpstreamUnauthorized); !strings.Contains(f.Message, "write") {
		t.Errorf("got %s", f.Message)
	}
	w.wantState(t, oauthclient.NeedsReauth, oauthclient.ReasonInsufficientScope)
	if w.token(t) == "" {
		t.Error("token no longer returned")
	}
	w.Advance(2 * time.Hour)
	if w.token(t) == "" {
		t.Error("token no longer refreshed")
	}
	w.wantState(t, oauthclient.NeedsReauth, oauthclient.ReasonInsufficientScope)
	// The next authorization requests both scopes.
	if q := w.begin(t).Query(); q.Get("scope") != "read write" {
		t.Errorf("got %v", q)
	}
}

func TestForbiddenWithoutScopesIsFinal(t *testing.T) {
	p := newProvider(t)
	w := onSQLite(t, p, options{})
	w.connect(t)
	v, err := w.Refused(t.Context(), w.server(t), "", upstream.Credentials{Bearer: secrets.NewValue(w.token(t))}, &upstream.Challenge{Status: 403})
	if err != nil || !v.IsZero() {
		t.Errorf("Refused() zero = %v, %v, want true, nil", v.IsZero(), err)
	}
	w.wantState(t, oauthclient.Connected, "")
}

func TestNoRefreshAfterClose(t *testing.T) {
	p := newProvider(t)
	w := onSQLite(t, p, options{})
	w.connect(t)
	w.Advance(2 * time.Hour)
	w.Close()
	_, err := w.Token(t.Context(), w.server(t), "")
	want(t, err, fault.CodeUpstreamUnavailable)
	if n := p.grants("refresh_token"); n != 0 {
		t.Errorf("%d refreshes", n)
	}
}

func TestRefreshSurvivesCallerCancellation(t *testing.T) {
	p := newProvider(t)
	w := onSQLite(t, p, options{})
	w.connect(t)
	old := w.token(t)
	received, release := make(chan struct{}), make(chan struct{})
	p.set(func() {
		p.token = func(http.ResponseWriter, url.Values) bool {
			close(received)
			<-release
			return false
		}
	})
	w.Advance(2 * time.Hour)
	server := w.server(t)
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() { _, err := w.Token(ctx, server, ""); left <- err }()
	<-received
	cancel()
	if err := <-left; err == nil {
		t.Error("cancelled caller got a token")
	}
	p.set(func() { p.token = nil })
	close(release)
	if w.token(t) == old || p.grants("refresh_token") != 1 {
		t.Errorf("%d refreshes, want 1 and its token", p.grants("refresh_token"))
	}
}

func TestStatusesOfAllOAuthServers(t *testing.T) {
	each(t, func(t *testing.T, p *provider, w *world) {
		other := w.server(t)
		other.ID, other.Alias, other.AliasFold = "s2", "up2", "up2"
		plain := other
		plain.ID, plain.Alias, plain.AliasFold, plain.AuthType = "s3", "up3", "up3", models.UpstreamAuthNone
		if err := w.db.Create([]*models.Server{&other, &plain}).Error; err != nil {
			t.Fatal(err)
		}
		w.connect(t)
		all, err := w.Statuses(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]oauthclient.State{}
		for id, s := range all {
			got[id] = s.State
		}
		if diff := cmp.Diff(map[string]oauthclient.State{"s": oauthclient.Connected, "s2": oauthclient.NotConnected}, got); diff != "" {
			t.Error(diff)
		}
		_, err = w.Status(t.Context(), "s3")
		want(t, err, fault.CodeConflict)
	})
}
