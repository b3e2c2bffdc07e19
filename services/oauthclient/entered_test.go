package oauthclient_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/fault"
	"mcpgateway/services/notify"
	"mcpgateway/services/oauthclient"
	"mcpgateway/services/oauthclient/accounts"
	"mcpgateway/services/secrets"
	"mcpgateway/services/upstream"
)

// entered returns what a user enters: a bearer token, and values of headers
// after their names.
func entered(bearer string, headers ...string) oauthclient.PersonalToken {
	t := oauthclient.PersonalToken{Bearer: secrets.NewValue(bearer), Headers: map[string]secrets.Value{}}
	for i := 0; i < len(headers); i += 2 {
		t.Headers[headers[i]] = secrets.NewValue(headers[i+1])
	}
	return t
}

func TestEnteredTokensAreChecked(t *testing.T) {
	t.Parallel()
	w := personalWorld(t, modelstest.SQLite(t), "http://127.0.0.1:1/mcp", options{})
	const bearer, none, oauth = models.UpstreamAuthBearer, models.UpstreamAuthNone, models.UpstreamAuthOAuth
	long := strings.Repeat("x", accounts.MaxEntered)
	for name, c := range map[string]struct {
		auth    models.AuthType
		headers models.StringList
		given   oauthclient.PersonalToken
		wrong   []string // fields
		code    fault.Code
		usable  bool
	}{
		"bearer":                    {bearer, nil, entered("sesame"), nil, "", true},
		"bearer with prefix":        {bearer, nil, entered(" Bearer sesame "), nil, "", true},
		"longest bearer":            {bearer, nil, entered(long), nil, "", true},
		"long bearer":               {bearer, nil, entered(long + "x"), []string{"bearer"}, "", false},
		"bearer with a line break":  {bearer, nil, entered("a\nb"), []string{"bearer"}, "", false},
		"no bearer":                 {bearer, nil, entered(""), []string{"bearer"}, "", false},
		"only the prefix":           {bearer, nil, entered("Bearer "), []string{"bearer"}, "", false},
		"unknown header":            {bearer, nil, entered("sesame", "X-Key", "v"), []string{"headers"}, "", false},
		"header":                    {none, models.StringList{"X-Key"}, entered("", "x-key", "v"), nil, "", true},
		"header without a value":    {none, models.StringList{"X-Key"}, entered("", "X-Key", " "), []string{"headers.X-Key"}, "", false},
		"long header":               {none, models.StringList{"X-Key"}, entered("", "X-Key", long+"x"), []string{"headers.X-Key"}, "", false},
		"header with a line break":  {none, models.StringList{"X-Key"}, entered("", "X-Key", "a\r\nb: c"), []string{"headers.X-Key"}, "", false},
		"bearer that isn't used":    {none, models.StringList{"X-Key"}, entered("sesame", "X-Key", "v"), []string{"bearer"}, "", false},
		"both":                      {bearer, models.StringList{"X-Key", "X-Org"}, entered("sesame", "X-Key", "v", "X-Org", "o"), nil, "", true},
		"bearer without header":     {bearer, models.StringList{"X-Key"}, entered("sesame"), []string{"headers.X-Key"}, "", false},
		"header without bearer":     {bearer, models.StringList{"X-Key"}, entered("", "X-Key", "v"), []string{"bearer"}, "", false},
		"one of two headers":        {none, models.StringList{"X-Key", "X-Org"}, entered("", "X-Key", "v"), []string{"headers.X-Org"}, "", false},
		"token for OAuth":           {oauth, nil, entered("sesame"), nil, fault.CodeConflict, false},
		"header before the sign-in": {oauth, models.StringList{"X-Key"}, entered("", "X-Key", "v"), nil, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			w.configure(t, map[string]any{"auth_type": c.auth, "personal_headers": c.headers})
			if err := w.db.Delete(&models.PersonalConnection{}, "user_id = 'ann'").Error; err != nil {
				t.Fatal(err)
			}
			_ = w.Changed(t.Context(), notify.PersonalConnection(serverID, "ann"))
			err := w.StoreToken(t.Context(), serverID, "ann", c.given)
			switch {
			case c.wrong != nil:
				f := want(t, err, fault.CodeValidationFailed)
				for _, field := range c.wrong {
					if f.Fields[field] == "" || len(f.Fields) != len(c.wrong) || strings.Contains(f.Message, "sesame") {
						t.Errorf("fields %v, want %v", f.Fields, c.wrong)
					}
				}
			case c.code != "":
				want(t, err, c.code)
			case err != nil:
				t.Fatal(err)
			}
			got, err := w.Credentials(t.Context(), w.server(t), "ann")
			if !c.usable {
				want(t, err, fault.CodeConnectionRequired)
				return
			}
			if err != nil || strings.HasPrefix(got.Bearer.Reveal(), "Bearer") || len(got.Headers) != len(c.headers) {
				t.Fatalf("%d headers, %v", len(got.Headers), err)
			}
			if s := w.statusOf(t, "ann"); s.State != oauthclient.Connected || s.Kind != models.KindToken {
				t.Errorf("%+v", s)
			}
		})
	}
	want(t, w.StoreToken(t.Context(), serverID, "nobody", entered("sesame")), fault.CodeNotFound)
	w.configure(t, map[string]any{"connection": models.ConnectionShared, "auth_type": bearer})
	want(t, w.StoreToken(t.Context(), serverID, "ann", entered("sesame")), fault.CodeConflict)
}

// TestEnteredTokenIsBoundToServer changes the server after a person entered a
// token.
func TestEnteredTokenIsBoundToServer(t *testing.T) {
	t.Parallel()
	w := personalWorld(t, modelstest.SQLite(t), "http://127.0.0.1:1/mcp", options{})
	w.configure(t, map[string]any{"auth_type": models.UpstreamAuthBearer})
	store := func() {
		t.Helper()
		if err := w.StoreToken(t.Context(), serverID, "ann", entered("sesame")); err != nil {
			t.Fatal(err)
		}
		if w.tokenOf(t, "ann") != "sesame" {
			t.Fatal("another token")
		}
	}
	store()
	w.configure(t, map[string]any{"personal_headers": models.StringList{"X-Key"}})
	w.wantConnect(t, "ann", upstream.ReasonNotConnected) // incomplete
	w.configure(t, map[string]any{"personal_headers": models.StringList{}, "auth_type": models.UpstreamAuthOAuth})
	w.wantConnect(t, "ann", upstream.ReasonNotConnected) // of another kind
	w.configure(t, map[string]any{"auth_type": models.UpstreamAuthBearer, "url": "http://127.0.0.1:2/mcp"})
	w.wantConnect(t, "ann", upstream.ReasonRevoked)
	if s := w.statusOf(t, "ann"); s.State != oauthclient.NeedsReauth || s.Reason != oauthclient.ReasonURLChanged {
		t.Errorf("%+v", s)
	}
	store()
	if revoked, err := w.Disconnect(t.Context(), serverID, "ann"); revoked || err != nil {
		t.Errorf("Disconnect() = %t, %v", revoked, err)
	}
	w.wantConnect(t, "ann", upstream.ReasonNotConnected)
}

// TestOAuthWithPersonalHeaders needs both the sign-in and the headers.
func TestOAuthWithPersonalHeaders(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	w := personalWorld(t, modelstest.SQLite(t), p.mcp(), options{})
	w.configure(t, map[string]any{"personal_headers": models.StringList{"X-Key"}})
	w.connectAs(t, "ann")
	w.wantConnect(t, "ann", upstream.ReasonNotConnected)
	if s := w.statusOf(t, "ann"); s.State != oauthclient.NotConnected {
		t.Errorf("%+v", s)
	}
	if err := w.StoreToken(t.Context(), serverID, "ann", entered("", "X-Key", "v")); err != nil {
		t.Fatal(err)
	}
	token := w.tokenOf(t, "ann")
	w.connectAs(t, "ann") // keeps the header
	got, err := w.Credentials(t.Context(), w.server(t), "ann")
	if err != nil || got.Headers["X-Key"].Reveal() != "v" || got.Bearer.Reveal() == token {
		t.Errorf("%v, %v", got, err)
	}
}

// TestRefusedEnteredToken rejects entered credentials with HTTP 401: nothing is
// sent for 60 seconds, and then one try of all callers and processes.
func TestRefusedEnteredToken(t *testing.T) {
	t.Parallel()
	eachPersonal(t, options{}, func(t *testing.T, p *provider, w *world, dsn string) {
		w.configure(t, map[string]any{"auth_type": models.UpstreamAuthBearer, "personal_headers": models.StringList{"X-Key"}})
		if err := w.StoreToken(t.Context(), serverID, "ann", entered("sesame", "X-Key", "wrong")); err != nil {
			t.Fatal(err)
		}
		status, values := 200, []string{}
		p.set(func() {
			p.access["sesame"] = true
			p.serve = func(rw http.ResponseWriter, r *http.Request) bool {
				p.mu.Lock()
				defer p.mu.Unlock()
				if values = append(values, r.Header.Get("X-Key")); status != 200 {
					rw.WriteHeader(status)
				}
				return status != 200
			}
		})
		answer := func(with int) { p.set(func() { status, values = with, nil }) }
		sent := func() int { return get(p, func() int { return len(values) }) }
		other := join(t, dsn, options{now: w.Now})
		here, ann := w.throughAs(t, "ann")
		there, anns := other.throughAs(t, "ann")
		if err := call(t, here, ann); err != nil {
			t.Fatal(err)
		}
		answer(403)
		want(t, call(t, here, ann), fault.CodeUpstreamUnauthorized)
		if s := w.statusOf(t, "ann"); s.State != oauthclient.Connected {
			t.Fatalf("HTTP 403: %+v", s)
		}
		answer(401)
		want(t, call(t, here, ann), fault.CodeConnectionRequired)
		if s := w.statusOf(t, "ann"); s.State != oauthclient.NeedsReauth || s.Reason != oauthclient.ReasonTokenRefused || sent() != 1 {
			t.Fatalf("%d requests: %+v", sent(), s)
		}
		_ = other.Changed(t.Context(), notify.PersonalConnection(serverID, "ann"))
		for _, c := range []struct {
			wait   time.Duration
			status int
			sent   int
		}{{time.Minute - time.Millisecond, 401, 0}, {time.Millisecond, 401, 1}, {time.Minute - time.Millisecond, 401, 0}} {
			w.Advance(c.wait)
			answer(c.status)
			var all sync.WaitGroup
			for i := range 10 {
				all.Go(func() {
					through, target := here, ann
					if i%2 == 1 {
						through, target = there, anns
					}
					if err := call(t, through, target); !fault.Is(err, fault.CodeConnectionRequired) {
						t.Errorf("got %v", err)
					}
				})
			}
			all.Wait()
			if n := sent(); n != c.sent {
				t.Errorf("%v later: %d requests, want %d", c.wait, n, c.sent)
			}
		}
		// New values are used at once.
		answer(200)
		if err := w.StoreToken(t.Context(), serverID, "ann", entered("sesame", "X-Key", "right")); err != nil {
			t.Fatal(err)
		}
		if err := call(t, here, ann); err != nil || get(p, func() string { return values[len(values)-1] }) != "right" {
			t.Errorf("%v, sent %v", err, values)
		}
		// A late rejection of the old ones doesn't concern the new ones.
		late := upstream.Credentials{Bearer: secrets.NewValue("sesame"), Headers: map[string]secrets.Value{"X-Key": secrets.NewValue("wrong")}}
		got, err := w.Refused(t.Context(), w.server(t), "ann", late, &upstream.Challenge{Status: 401})
		if err != nil || got.Headers["X-Key"].Reveal() != "right" {
			t.Errorf("Refused() = %v", err)
		}
		// The try after a rejection restores the connection.
		answer(401)
		want(t, call(t, here, ann), fault.CodeConnectionRequired)
		answer(200)
		w.Advance(time.Minute)
		if err := call(t, here, ann); err != nil {
			t.Error(err)
		}
		if s := w.statusOf(t, "ann"); s.State != oauthclient.Connected || s.ErrorText != "" {
			t.Errorf("%+v", s)
		}
		needs := 0
		for _, action := range w.audited(t) {
			if action == "connection.needs_reauth" {
				needs++
			}
		}
		if d := cmp.Diff(2, needs); d != "" {
			t.Errorf("audit entries needs_reauth (-want +got):\n%s", d)
		}
	})
}
