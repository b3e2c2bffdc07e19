package credentials_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/secrets"
	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/credentials"
	"mcpgateway/services/upstream/upstreamtest"
)

// vouchers are tokens with fixed results. They record the rejected ones.
type vouchers struct {
	token, next string
	err         error

	mu      sync.Mutex
	refused []string
}

func (v *vouchers) Credentials(context.Context, models.Server, string) (upstream.Credentials, error) {
	return upstream.Credentials{Bearer: secrets.NewValue(v.token)}, nil
}

func (v *vouchers) Accepted(context.Context, models.Server, string, upstream.Credentials) {}

func (v *vouchers) Secrets(context.Context, models.Server, string) []secrets.Value {
	return []secrets.Value{secrets.NewValue("a refresh token"), secrets.NewValue("a client secret"), {}}
}

func (v *vouchers) Refused(_ context.Context, server models.Server, _ string, sent upstream.Credentials, c *upstream.Challenge) (upstream.Credentials, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.refused = append(v.refused, server.ID+" "+sent.Bearer.Reveal()+" "+strings.Join(c.WWWAuthenticate, ",")[:6])
	return upstream.Credentials{Bearer: secrets.NewValue(v.next)}, v.err
}

func TestRejectedTokenIsReplacedOnce(t *testing.T) {
	broken := fault.Upstream(fault.CodeUpstreamUnavailable, "the authorization server is away")
	for _, era := range upstreamtest.AllEras() {
		for name, c := range map[string]struct {
			token, next string
			err         error
			code        fault.Code
			text        string
			refused     []string
		}{
			"valid token":           {"sesame", "", nil, "", "", nil},
			"renewed token":         {"old", "sesame", nil, "", "", []string{"s old Bearer"}},
			"no renewed token":      {"old", "", nil, fault.CodeUpstreamUnauthorized, "rejected the credentials", []string{"s old Bearer"}},
			"invalid renewed token": {"old", "older", nil, fault.CodeUpstreamUnauthorized, "rejected the credentials", []string{"s old Bearer"}},
			"failure":               {"old", "", broken, fault.CodeUpstreamUnavailable, "authorization server is away", []string{"s old Bearer"}},
		} {
			t.Run(string(era)+"/"+name, func(t *testing.T) {
				up := upstreamtest.New(upstreamtest.Options{Tools: upstreamtest.Standard(1), Token: "sesame", Eras: []upstreamtest.Era{era}})
				resolver, _ := vault(t, nil)
				row := models.Server{ID: "s", Alias: "jira", URL: up.Start(t), Transport: models.TransportAuto, TimeoutMS: 5000, AuthType: models.UpstreamAuthOAuth}
				v := &vouchers{token: c.token, next: c.next, err: c.err}
				p := newPool(t)
				_, err := p.Call(testContext(t), credentials.NewConnectedTarget(row, resolver, bound, v), echo("x"))
				switch {
				case c.code != "":
					wantFault(t, err, c.code, c.text)
				case err != nil:
					t.Fatal(err)
				}
				v.mu.Lock()
				defer v.mu.Unlock()
				if len(v.refused) > 0 && c.code == "" { // each request of the call can be rejected separately
					v.refused = v.refused[:1]
				}
				if d := cmp.Diff(c.refused, v.refused); d != "" {
					t.Errorf("rejected tokens (-want +got):\n%s", d)
				}
			})
		}
	}
}

func TestOnlyOAuthServersRequestTokens(t *testing.T) {
	v := &vouchers{token: "sesame", err: errors.New("nobody asks")}
	resolver, seal := vault(t, nil)
	for _, auth := range []models.AuthType{models.UpstreamAuthNone, models.UpstreamAuthBearer} {
		row := models.Server{ID: "s", Alias: "jira", AuthType: auth, AuthBearer: seal("given", "bearer of s")}
		to := credentials.NewConnectedTarget(row, resolver, bound, v)
		h, err := to.Headers(testContext(t))
		if err != nil || to.Refused != nil || strings.Contains(h.Get("Authorization"), "sesame") {
			t.Errorf("%s: %v, %v", auth, h, err)
		}
	}
}

// TestEchoedSecretsAreRemoved echoes the current token, the previous one, and
// secrets that are in no header.
func TestEchoedSecretsAreRemoved(t *testing.T) {
	up := upstreamtest.New(upstreamtest.Options{Tools: upstreamtest.Standard(1)})
	resolver, _ := vault(t, nil)
	row := models.Server{ID: "s", Alias: "jira", URL: up.Start(t), TimeoutMS: 5000, AuthType: models.UpstreamAuthOAuth}
	v := &vouchers{token: "sesame-one"}
	p, to := newPool(t), credentials.NewConnectedTarget(row, resolver, bound, v)
	echoes := "sesame-one, sesame-two, a refresh token, a client secret"
	for i, want := range []string{
		"[redacted], sesame-two, [redacted], [redacted]",
		"[redacted], [redacted], [redacted], [redacted]",
	} {
		if i > 0 {
			v.token = "sesame-two"
		}
		if got := textOf(t, mustCall(t, p, to, echo(echoes)).Result); got != want {
			t.Errorf("client received %q, want %q", got, want)
		}
	}
}
