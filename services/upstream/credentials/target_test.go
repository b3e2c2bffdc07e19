package credentials_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/secrets"
	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/credentials"
	"mcpgateway/services/upstream/upstreamtest"
)

// noSecrets resolves only empty secrets.
type noSecrets struct{}

func (noSecrets) Resolve(stored, _ string) (secrets.Value, error) {
	if stored != "" {
		return secrets.Value{}, errors.New("there are no secrets here")
	}
	return secrets.Value{}, nil
}

var bound = credentials.Rows{
	Bearer: func(id string) string { return "bearer of " + id },
	Header: func(id, name string) string { return "header " + name + " of " + id },
}

// vault returns a resolver with the given environment, and a function that
// seals a literal for a row.
func vault(t *testing.T, environment map[string]string) (*secrets.Resolver, func(literal, row string) string) {
	t.Helper()
	ring, err := secrets.ParseKeyRing("test:MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=")
	if err != nil {
		t.Fatal(err)
	}
	lookup := func(name string) (string, bool) { v, ok := environment[name]; return v, ok }
	r := secrets.NewResolver(ring, secrets.NewEnvironment([]string{"MCP_UPSTREAM_*"}, lookup))
	return r, func(literal, row string) string {
		t.Helper()
		sealed, err := r.Store(literal, row)
		if err != nil {
			t.Fatal(err)
		}
		return sealed
	}
}

func TestCredentialsOfEachKind(t *testing.T) {
	resolver, seal := vault(t, map[string]string{"MCP_UPSTREAM_A": "sesame-env", "MCP_UPSTREAM_EMPTY": "", "HOME": "sesame-home"})
	const bearerRow, keyRow = "bearer of s", "header X-Key of s"
	for _, tc := range []struct {
		name    string
		auth    models.AuthType
		bearer  string
		headers models.StringMap
		want    http.Header
		code    fault.Code
		text    string
	}{
		{name: "none", auth: models.UpstreamAuthNone},
		{name: "none sends no bearer", auth: models.UpstreamAuthNone, bearer: seal("sesame", bearerRow)},
		{name: "literal", auth: models.UpstreamAuthBearer, bearer: seal("sesame", bearerRow), want: http.Header{"Authorization": {"Bearer sesame"}}},
		{name: "literal with prefix", auth: models.UpstreamAuthBearer, bearer: seal("Bearer sesame", bearerRow), want: http.Header{"Authorization": {"Bearer sesame"}}},
		{name: "reference", auth: models.UpstreamAuthBearer, bearer: "${MCP_UPSTREAM_A}", want: http.Header{"Authorization": {"Bearer sesame-env"}}},
		{name: "reference with prefix", auth: models.UpstreamAuthBearer, bearer: "Bearer ${MCP_UPSTREAM_A}", want: http.Header{"Authorization": {"Bearer sesame-env"}}},
		{name: "headers", auth: models.UpstreamAuthNone, headers: models.StringMap{"X-Key": seal("sesame", keyRow), "X-Env": "${MCP_UPSTREAM_A}"}, want: http.Header{"X-Key": {"sesame"}, "X-Env": {"sesame-env"}}},
		{
			name: "bearer overrides header", auth: models.UpstreamAuthBearer, bearer: seal("sesame", bearerRow),
			headers: models.StringMap{"Authorization": seal("Basic x", "header Authorization of s")}, want: http.Header{"Authorization": {"Bearer sesame"}},
		},
		{name: "no bearer", auth: models.UpstreamAuthBearer, code: fault.CodeUpstreamUnauthorized, text: "Server jira has authType bearer but no authBearer"},
		{name: "header without a value", auth: models.UpstreamAuthNone, headers: models.StringMap{"X-Key": ""}, code: fault.CodeUpstreamUnauthorized, text: "Server jira has no value for the header X-Key"},
		{name: "missing variable", auth: models.UpstreamAuthBearer, bearer: "${MCP_UPSTREAM_B}", code: fault.CodeUpstreamUnauthorized, text: "MCP_UPSTREAM_B"},
		{name: "empty variable", auth: models.UpstreamAuthBearer, bearer: "${MCP_UPSTREAM_EMPTY}", code: fault.CodeUpstreamUnauthorized, text: "MCP_UPSTREAM_EMPTY"},
		{name: "refused variable", auth: models.UpstreamAuthBearer, bearer: "${HOME}", code: fault.CodeUpstreamUnauthorized, text: "HOME is not allowed"},
		{name: "gateway variable", auth: models.UpstreamAuthNone, headers: models.StringMap{"X-Key": "${GATEWAY_ADMIN_TOKEN}"}, code: fault.CodeUpstreamUnauthorized, text: "is reserved for the gateway"},
		{name: "missing in a header", auth: models.UpstreamAuthNone, headers: models.StringMap{"X-Key": "${MCP_UPSTREAM_B}"}, code: fault.CodeUpstreamUnauthorized, text: "MCP_UPSTREAM_B"},
		{name: "sealed for another row", auth: models.UpstreamAuthBearer, bearer: seal("sesame", "bearer of t"), code: fault.CodeInternal, text: "Enter it again"},
		{name: "sealed for another header", auth: models.UpstreamAuthNone, headers: models.StringMap{"X-Key": seal("sesame", "header X-Other of s")}, code: fault.CodeInternal, text: "Enter it again"},
		{name: "plain text in the database", auth: models.UpstreamAuthBearer, bearer: "sesame", code: fault.CodeInternal, text: "is not sealed"},
		{name: "oauth without a connection", auth: models.UpstreamAuthOAuth, bearer: seal("sesame", bearerRow), code: fault.CodeUpstreamUnauthorized, text: "Server jira requires an OAuth connection"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			to := credentials.NewTarget(models.Server{ID: "s", Alias: "jira", AuthType: tc.auth, AuthBearer: tc.bearer, Headers: tc.headers}, resolver, bound)
			h, err := to.Headers(testContext(t))
			if tc.code != "" {
				if h != nil {
					t.Errorf("%d headers with an error", len(h))
				}
				wantFault(t, err, tc.code, tc.text) // it also checks for the secret
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.want, h); d != "" {
				t.Errorf("headers (-want +got):\n%s", d)
			}
		})
	}
}

func TestTargetIsTheConfiguration(t *testing.T) {
	row := models.Server{
		ID: "s", Alias: "jira", URL: "https://up.example/mcp", ConfigVersion: 7, Transport: models.TransportSSE, TimeoutMS: 1500, SessionMode: models.SessionPerClient,
		AuthType: models.UpstreamAuthNone,
	}
	to := credentials.NewTarget(row, noSecrets{}, bound)
	to.Headers = nil
	want := &upstream.Target{
		ServerID: "s", Alias: "jira", URL: "https://up.example/mcp", Version: 7, Transport: models.TransportSSE, Timeout: 1500 * time.Millisecond, SessionMode: models.SessionPerClient,
	}
	if d := cmp.Diff(want, to, cmpopts.IgnoreTypes(upstream.Forwarding{})); d != "" {
		t.Errorf("target (-want +got):\n%s", d)
	}
}

func TestReferenceIsResolvedPerRequest(t *testing.T) {
	environment := map[string]string{"MCP_UPSTREAM_A": "sesame-1"}
	resolver, _ := vault(t, environment)
	to := credentials.NewTarget(models.Server{ID: "s", Alias: "jira", AuthType: models.UpstreamAuthBearer, AuthBearer: "${MCP_UPSTREAM_A}"}, resolver, bound)
	for _, token := range []string{"sesame-1", "sesame-2"} {
		environment["MCP_UPSTREAM_A"] = token
		if h, err := to.Headers(testContext(t)); err != nil || h.Get("Authorization") != "Bearer "+token {
			t.Errorf("got %v", err)
		}
	}
}

func TestMissingCredentialSendsNothing(t *testing.T) {
	up := upstreamtest.New(upstreamtest.Options{Tools: upstreamtest.Standard(1)})
	resolver, _ := vault(t, nil)
	row := models.Server{ID: "s", Alias: "jira", URL: up.Start(t), Transport: models.TransportAuto, TimeoutMS: 5000, AuthType: models.UpstreamAuthBearer, AuthBearer: "${MCP_UPSTREAM_B}"}
	p := newPool(t)
	_, err := p.Call(testContext(t), credentials.NewTarget(row, resolver, bound), echo("x"))
	wantFault(t, err, fault.CodeUpstreamUnauthorized, "MCP_UPSTREAM_B")
	if n := up.Stats().Requests; n != 0 {
		t.Errorf("upstream received %d requests", n)
	}
}

func TestCredentialsReachUpstream(t *testing.T) {
	for _, era := range upstreamtest.AllEras() {
		t.Run(string(era), func(t *testing.T) {
			up := upstreamtest.New(upstreamtest.Options{Tools: upstreamtest.Standard(1), Token: "sesame", Eras: []upstreamtest.Era{era}})
			resolver, seal := vault(t, nil)
			row := models.Server{
				ID: "s", Alias: "jira", URL: up.Start(t), Transport: models.TransportAuto, TimeoutMS: 5000, AuthType: models.UpstreamAuthBearer,
				AuthBearer: seal("sesame", "bearer of s"), Headers: models.StringMap{"X-Key": seal("sesame-key", "header X-Key of s")},
			}
			p := newPool(t)
			mustCall(t, p, credentials.NewTarget(row, resolver, bound), echo("x"))
			for _, r := range up.Requests() {
				if r.Header.Get("Authorization") != "Bearer sesame" || r.Header.Get("X-Key") != "sesame-key" {
					t.Errorf("%s request for %q had other credentials", r.HTTPMethod, r.Method)
				}
			}
			row.AuthBearer, row.ID = seal("sesame-wrong", "bearer of t"), "t"
			row.Headers = nil
			_, err := p.Call(testContext(t), credentials.NewTarget(row, resolver, bound), echo("x"))
			wantFault(t, err, fault.CodeUpstreamUnauthorized, "rejected the credentials")
		})
	}
}

func TestTargetPrintsNoSecret(t *testing.T) {
	resolver, seal := vault(t, map[string]string{"MCP_UPSTREAM_A": "sesame"})
	for _, row := range []models.Server{
		{ID: "s", AuthType: models.UpstreamAuthBearer, AuthBearer: seal("sesame", "bearer of s")},
		{ID: "s", AuthType: models.UpstreamAuthBearer, AuthBearer: "${MCP_UPSTREAM_A}"},
	} {
		if shown := fmt.Sprintf("%+v %#v", credentials.NewTarget(row, resolver, bound), resolver); strings.Contains(shown, "sesame") {
			t.Errorf("printed as %s", shown)
		}
	}
}

// opener counts the requests for a secret.
type opener struct {
	credentials.Resolver
	calls atomic.Int64
}

func (o *opener) Resolve(stored, row string) (secrets.Value, error) {
	o.calls.Add(1)
	return o.Resolver.Resolve(stored, row)
}

func TestSealedSecretIsDecryptedOnce(t *testing.T) {
	environment := map[string]string{"MCP_UPSTREAM_A": "from-env"}
	resolver, seal := vault(t, environment)
	counted := &opener{Resolver: resolver}
	row := models.Server{
		ID: "s", Alias: "jira", AuthType: models.UpstreamAuthBearer, AuthBearer: seal("sesame", bound.Bearer("s")),
		Headers: map[string]string{"X-One": seal("one", bound.Header("s", "X-One")), "X-Two": "${MCP_UPSTREAM_A}"},
	}
	to := credentials.NewTarget(row, counted, bound)
	if n := counted.calls.Load(); n != 0 {
		t.Errorf("%d secrets were decrypted before they are needed", n)
	}
	for i := range 3 {
		environment["MCP_UPSTREAM_A"] = fmt.Sprint("from-env", i)
		want := http.Header{"Authorization": {"Bearer sesame"}, "X-One": {"one"}, "X-Two": {fmt.Sprint("from-env", i)}}
		got, err := to.Headers(t.Context())
		if err != nil || !cmp.Equal(want, got) {
			t.Fatalf("Headers() = %v, %v", got, err)
		}
		got.Set("Authorization", "modified") // each request has separate headers
		if n := counted.calls.Load(); n != int64(3+i) {
			t.Errorf("after %d requests %d secrets were decrypted, want %d", i+1, n, 3+i)
		}
	}

	row.AuthBearer = seal("changed", bound.Bearer("s"))
	if got, err := credentials.NewTarget(row, counted, bound).Headers(t.Context()); err != nil || got.Get("Authorization") != "Bearer changed" {
		t.Errorf("changed configuration: Headers() = %v, %v", got, err)
	}
	row.AuthBearer = seal("sesame", bound.Bearer("another"))
	broken := credentials.NewTarget(row, counted, bound)
	for range 2 {
		if got, err := broken.Headers(t.Context()); err == nil {
			t.Errorf("secret of another row was sent: %v", got)
		}
	}
}

func BenchmarkHeaders(b *testing.B) {
	ring, err := secrets.ParseKeyRing("test:" + "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=")
	if err != nil {
		b.Fatal(err)
	}
	resolver := secrets.NewResolver(ring, secrets.NewEnvironment(nil, os.LookupEnv))
	row := models.Server{ID: "s", Alias: "jira", AuthType: models.UpstreamAuthBearer, Headers: map[string]string{}}
	if row.AuthBearer, err = resolver.Store("0123456789012345678901234567890123456789", bound.Bearer("s")); err != nil {
		b.Fatal(err)
	}
	if row.Headers["X-Team"], err = resolver.Store("0123456789", bound.Header("s", "X-Team")); err != nil {
		b.Fatal(err)
	}
	to := credentials.NewTarget(row, resolver, bound)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := to.Headers(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
