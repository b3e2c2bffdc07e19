package credentials_test

import (
	"context"
	"maps"
	"net/http"
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

// wallets are the credentials of users. Rejected ones are replaced by the next.
type wallets struct {
	next map[string][]string // bearer tokens by user; the first is current

	mu       sync.Mutex
	refused  []string
	accepted map[string]int
}

func (v *wallets) Credentials(_ context.Context, server models.Server, userID string) (upstream.Credentials, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.next[userID]) == 0 {
		return upstream.Credentials{}, upstream.ConnectionRequired(server.Alias, upstream.ReasonNotConnected)
	}
	given := upstream.Credentials{Headers: map[string]secrets.Value{}}
	if server.AuthType != models.UpstreamAuthNone {
		given.Bearer = secrets.NewValue(v.next[userID][0])
	}
	for _, name := range server.PersonalHeaders {
		given.Headers[name] = secrets.NewValue("sesame-key-of-" + userID)
	}
	return given, nil
}

func (v *wallets) Secrets(_ context.Context, _ models.Server, userID string) []secrets.Value {
	return []secrets.Value{secrets.NewValue("the refresh token of " + userID)}
}

func (v *wallets) Refused(ctx context.Context, server models.Server, userID string, sent upstream.Credentials, _ *upstream.Challenge) (upstream.Credentials, error) {
	v.mu.Lock()
	v.refused = append(v.refused, userID+" "+sent.Bearer.Reveal())
	if left := v.next[userID]; left[0] == sent.Bearer.Reveal() {
		v.next[userID] = left[1:]
	}
	v.mu.Unlock()
	return v.Credentials(ctx, server, userID)
}

func (v *wallets) Accepted(_ context.Context, _ models.Server, userID string, sent upstream.Credentials) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.accepted == nil {
		v.accepted = map[string]int{}
	}
	v.accepted[userID+" "+sent.Bearer.Reveal()+strings.Join(sortedValues(sent.Headers), " ")]++
}

func sortedValues(headers map[string]secrets.Value) (values []string) {
	for name, v := range headers {
		values = append(values, " "+name+"="+v.Reveal())
	}
	return values
}

// TestHeadersOfPeople checks the headers of each kind of personal server. Shared
// headers stay, and everything else is the person's.
func TestHeadersOfPeople(t *testing.T) {
	resolver, seal := vault(t, nil)
	shared := models.StringMap{"X-Team": seal("team", "header X-Team of s"), "x-api-key": seal("shared", "header x-api-key of s"), "Authorization": seal("Basic shared", "header Authorization of s")}
	for name, c := range map[string]struct {
		auth     models.AuthType
		personal models.StringList
		want     http.Header
	}{
		"oauth":             {models.UpstreamAuthOAuth, nil, http.Header{"Authorization": {"Bearer sesame-ann"}, "X-Team": {"team"}, "x-api-key": {"shared"}}},
		"bearer":            {models.UpstreamAuthBearer, nil, http.Header{"Authorization": {"Bearer sesame-ann"}, "X-Team": {"team"}, "x-api-key": {"shared"}}},
		"header":            {models.UpstreamAuthNone, models.StringList{"X-Api-Key"}, http.Header{"Authorization": {"Basic shared"}, "X-Team": {"team"}, "X-Api-Key": {"sesame-key-of-ann"}}},
		"bearer and header": {models.UpstreamAuthBearer, models.StringList{"X-Api-Key"}, http.Header{"Authorization": {"Bearer sesame-ann"}, "X-Team": {"team"}, "X-Api-Key": {"sesame-key-of-ann"}}},
	} {
		t.Run(name, func(t *testing.T) {
			row := models.Server{ID: "s", Alias: "jira", AuthType: c.auth, Connection: models.ConnectionPersonal, PersonalHeaders: c.personal, Headers: shared, AuthBearer: seal("sesame-shared", "bearer of s")}
			v := &wallets{next: map[string][]string{"ann": {"sesame-ann"}}}
			to := credentials.NewConnectedTarget(row, resolver, bound, v)
			to.Address = func() (string, error) { return "the address", nil }
			for _, nobody := range []*upstream.Target{to, to.For("")} {
				if h, err := nobody.Headers(t.Context()); h != nil || !fault.Is(err, fault.CodePersonRequired) || nobody.Secrets != nil || nobody.Refused != nil || !nobody.IsPersonal() {
					t.Errorf("without a person: %d headers, %v", len(h), err)
				}
			}
			ann := to.For("ann")
			h, err := ann.Headers(t.Context())
			if d := cmp.Diff(c.want, h); d != "" || err != nil {
				t.Errorf("headers (-want +got):\n%s%v", d, err)
			}
			if at, err := ann.Address(); at != "the address" || err != nil || ann.Person != "ann" || ann.Own != nil {
				t.Errorf("%+v", ann)
			}
			if got := ann.Secrets(t.Context()); len(got) != 1 || got[0].Reveal() != "the refresh token of ann" {
				t.Errorf("%d secrets", len(got))
			}
			_, err = to.For("ben").Headers(t.Context())
			wantFault(t, err, fault.CodeConnectionRequired)
		})
	}
}

// TestRejectedPersonalToken rejects a person's tokens: the call is repeated with
// other ones, at most twice, and Refused decides about the last.
func TestRejectedPersonalToken(t *testing.T) {
	for _, era := range upstreamtest.AllEras() {
		for name, c := range map[string]struct {
			tokens  []string
			code    fault.Code
			refused []string
		}{
			"valid":                 {[]string{"sesame"}, "", nil},
			"second is valid":       {[]string{"one", "sesame"}, "", []string{"ann one"}},
			"third is valid":        {[]string{"one", "two", "sesame"}, "", []string{"ann one", "ann two"}},
			"no other":              {[]string{"one"}, fault.CodeConnectionRequired, []string{"ann one"}},
			"the other is rejected": {[]string{"one", "two"}, fault.CodeConnectionRequired, []string{"ann one", "ann two"}},
			"all are rejected":      {[]string{"one", "two", "three", "four"}, fault.CodeUpstreamUnauthorized, []string{"ann one", "ann two", "ann three"}},
		} {
			t.Run(string(era)+"/"+name, func(t *testing.T) {
				up := upstreamtest.New(upstreamtest.Options{Tools: upstreamtest.Standard(1), Token: "sesame", Eras: []upstreamtest.Era{era}})
				resolver, _ := vault(t, nil)
				row := models.Server{ID: "s", Alias: "jira", URL: up.Start(t), Transport: models.TransportAuto, TimeoutMS: 5000, AuthType: models.UpstreamAuthOAuth, Connection: models.ConnectionPersonal}
				v := &wallets{next: map[string][]string{"ann": c.tokens}}
				_, err := newPool(t).Call(testContext(t), credentials.NewConnectedTarget(row, resolver, bound, v).For("ann"), echo("x"))
				if c.code != "" {
					if !fault.Is(err, c.code) {
						t.Errorf("got %v, want fault %s", err, c.code)
					}
				} else if err != nil {
					t.Error(err)
				}
				v.mu.Lock()
				defer v.mu.Unlock()
				if d := cmp.Diff(c.refused, v.refused); d != "" {
					t.Errorf("rejected tokens (-want +got):\n%s", d)
				}
				if good := maps.Clone(v.accepted); (c.code == "") != (good["ann sesame"] > 0) || len(good) > 1 {
					t.Errorf("accepted %v", good)
				}
			})
		}
	}
}

// TestAcceptedNamesHeaders reports the accepted values of personal headers.
func TestAcceptedNamesHeaders(t *testing.T) {
	up := upstreamtest.New(upstreamtest.Options{Tools: upstreamtest.Standard(1)})
	resolver, _ := vault(t, nil)
	row := models.Server{ID: "s", Alias: "jira", URL: up.Start(t), TimeoutMS: 5000, AuthType: models.UpstreamAuthNone, Connection: models.ConnectionPersonal, PersonalHeaders: models.StringList{"x-api-key"}}
	v := &wallets{next: map[string][]string{"ann": {"unused"}}}
	mustCall(t, newPool(t), credentials.NewConnectedTarget(row, resolver, bound, v).For("ann"), echo("x"))
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.accepted) != 1 || v.accepted["ann  x-api-key=sesame-key-of-ann"] == 0 {
		t.Errorf("accepted %v", v.accepted)
	}
	for _, r := range up.Requests() {
		if r.Header.Get("X-Api-Key") != "sesame-key-of-ann" || r.Header.Get("Authorization") != "" {
			t.Errorf("%s request had other credentials", r.HTTPMethod)
		}
	}
}

func BenchmarkPersonalHeaders(b *testing.B) {
	row := models.Server{ID: "s", Alias: "jira", AuthType: models.UpstreamAuthOAuth, Connection: models.ConnectionPersonal}
	to := credentials.NewConnectedTarget(row, noSecrets{}, bound, &wallets{next: map[string][]string{"ann": {"sesame"}}})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := to.For("ann").Headers(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
