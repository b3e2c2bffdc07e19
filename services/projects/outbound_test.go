package projects_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcpgateway/models"
	"mcpgateway/services/certificates/certificatestest"
	"mcpgateway/services/projects"
)

// privateKey returns a new private key as PEM text.
func privateKey(t testing.TB, generate func() (crypto.PrivateKey, error)) string {
	t.Helper()
	key, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

func ecKey(curve elliptic.Curve) func() (crypto.PrivateKey, error) {
	return func() (crypto.PrivateKey, error) { return ecdsa.GenerateKey(curve, rand.Reader) }
}

func rsaKey(bits int) func() (crypto.PrivateKey, error) {
	return func() (crypto.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, bits) }
}

// refused returns the fields that a declaration of a server has problems with.
func (s *store) refused(t *testing.T, field string) string {
	t.Helper()
	_, err := s.tryApply(t, inServer(field))
	var names []string
	for _, name := range slices.Sorted(maps.Keys(fieldsOf(err))) {
		names = append(names, strings.TrimPrefix(name, "projects.p.mcpServers.s."))
	}
	return strings.Join(names, " ")
}

func TestClientCredentialsCombinations(t *testing.T) {
	s := sqliteStore(t)
	p256, p384, rsa2048, rsa1024 := quote(privateKey(t, ecKey(elliptic.P256()))), quote(privateKey(t, ecKey(elliptic.P384()))), quote(privateKey(t, rsaKey(2048))), quote(privateKey(t, rsaKey(1024)))
	own := func(rest string) string {
		return `"authType":"oauth","oauth":{"grant":"client_credentials","clientId":"id"` + rest + `}`
	}
	for _, tt := range []struct{ field, want string }{
		{own(`,"clientSecret":"s"`), ""},
		{own(``), ""}, // without a secret calls fail; there is a warning
		{own(`,"authMethod":"client_secret_post","clientSecret":"s","tokenUrl":"https://as.example/token","scopes":["a"]`), ""},
		{own(`,"authMethod":"private_key_jwt","privateKey":` + p256 + `,"keyId":"k","audience":"https://as.example"`), ""},
		{own(`,"privateKey":` + rsa2048), ""},
		{own(`,"privateKey":"${MCP_UPSTREAM_KEY}"`), ""},
		{own(`,"privateKey":` + rsa1024), "oauth.privateKey"},
		{own(`,"privateKey":` + p384), "oauth.privateKey"},
		{own(`,"privateKey":"sesame"`), "oauth.privateKey"},
		{own(`,"authMethod":"private_key_jwt","privateKey":` + p256 + `,"clientSecret":"s"`), "oauth.clientSecret"},
		{own(`,"authMethod":"client_secret_basic","clientSecret":"s","privateKey":` + p256 + `,"keyId":"k","audience":"a"`), "oauth.audience oauth.keyId oauth.privateKey"},
		{own(`,"clientSecret":"s","tokenUrl":"http://as.example/token"`), "oauth.tokenUrl"},
		{own(`,"clientSecret":"s","tokenUrl":"https://u@as.example/token"`), "oauth.tokenUrl"},
		{own(`,"clientSecret":"s","tokenUrl":"nowhere"`), "oauth.tokenUrl"},
		{`"authType":"oauth","oauth":{"grant":"client_credentials","clientSecret":"s"}`, "oauth.clientId"},
		{`"authType":"bearer","oauth":{"grant":"client_credentials","clientId":"id"}`, "oauth.grant"},
		{`"authType":"oauth","oauth":{"grant":"authorization_code","authMethod":"client_secret_basic","privateKey":` + p256 + `,"keyId":"k","tokenUrl":"https://a.example","audience":"a"}`, "oauth.audience oauth.authMethod oauth.keyId oauth.privateKey oauth.tokenUrl"},
	} {
		if _, err := s.tryApply(t, `{"projects":{}}`, projects.ApplyOptions{Prune: true}); err != nil {
			t.Fatal(err)
		}
		if got := s.refused(t, tt.field); got != tt.want {
			t.Errorf("%s: problems with %q, want %q", tt.field, got, tt.want)
		}
	}
}

func TestClientCredentialsFollowGrant(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		key := quote(privateKey(t, ecKey(elliptic.P256())))
		s.apply(t, inServer(`"authType":"oauth","oauth":{"grant":"client_credentials","clientId":"id","privateKey":`+key+`,"keyId":"k","audience":"a","tokenUrl":"https://as.example/token"}`))
		row := s.server(t, "p", "s")
		if !isSealed(row.OAuthPrivateKey) || row.OAuthClientAuth != models.PrivateKeyJWT {
			t.Fatalf("stored %+v", row)
		}
		if _, err := s.ring.Open(row.OAuthPrivateKey, projects.PrivateKeyRow(row.ID)); err != nil {
			t.Error(err)
		}
		file := s.export(t, "p")
		if strings.Contains(file, "PRIVATE KEY") || !strings.Contains(file, `"privateKey": "[secret]"`) || !strings.Contains(file, `"grant": "client_credentials"`) {
			t.Errorf("export %s", file)
		}
		wantPlan(t, s.apply(t, file), "keep p", "keep p/s")
		plan := s.apply(t, strings.ReplaceAll(file, `"p": {`, `"q": {`))
		if len(plan.Missing) != 1 || plan.Missing[0].Field != "oauth.privateKey" || s.export(t, "q") == file {
			t.Errorf("import elsewhere: %+v", plan.Missing)
		}
		wantPlan(t, s.apply(t, s.export(t, "q")), "keep q", "keep q/s")

		// Another method drops what it doesn't use.
		wantPlan(t, s.apply(t, inServer(`"oauth":{"authMethod":"client_secret_post","clientSecret":"s"}`)), "keep p", "update p/s oauth.authMethod oauth.privateKey oauth.keyId oauth.audience oauth.clientSecret")
		wantPlan(t, s.apply(t, inServer(`"oauth":{"authMethod":"private_key_jwt","privateKey":`+key+`}`)), "keep p", "update p/s oauth.authMethod oauth.clientSecret oauth.privateKey")
		wantPlan(t, s.apply(t, inServer(`"authType":"none"`)), "keep p", "update p/s authType oauth.grant oauth.authMethod oauth.privateKey oauth.tokenUrl")
		row = s.server(t, "p", "s")
		if row.OAuthGrant != models.GrantCode || row.OAuthPrivateKey != "" || row.OAuthTokenURL != "" {
			t.Errorf("left over: %+v", row)
		}
	})
}

func TestTLSSettings(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		ours, theirs := certificatestest.New(t), certificatestest.New(t)
		certificate, key := ours.Issue(t)
		_, otherKey := theirs.Issue(t)
		settings := func(ca, cert, key string) string {
			return `"tls":{"ca":` + quote(ca) + `,"cert":` + quote(cert) + `,"key":` + quote(key) + `}`
		}
		for _, tt := range []struct{ field, want string }{
			{settings("no PEM", "", ""), "tls.ca"},
			{settings(key, "", ""), "tls.ca"},
			{settings("", certificate, otherKey), "tls.key"},
			{settings("", certificate, "no PEM"), "tls.key"},
			{settings("", "", key), "tls.cert"},
			{settings("${HOME}", "", ""), "tls.ca"},
			{settings("", "a ${MCP_UPSTREAM_A}", key), "tls.cert"},
			{`"url":"http://up.example/mcp",` + settings(ours.PEM, "", ""), "tls.ca"},
		} {
			if strings.HasPrefix(tt.field, `"url"`) {
				tt.field = strings.TrimPrefix(tt.field, `"url":"http://up.example/mcp",`)
				_, err := s.tryApply(t, strings.Replace(inServer(tt.field), "https://up", "http://up", 1))
				if fields := fieldsOf(err); fields["projects.p.mcpServers.s.tls.ca"] != "only with an https URL" {
					t.Errorf("http: %v", fields)
				}
				continue
			}
			if got := s.refused(t, tt.field); got != tt.want {
				t.Errorf("%s: problems with %q, want %q", tt.field, got, tt.want)
			}
		}
		s.apply(t, inServer(settings(ours.PEM, certificate, key)))
		row := s.server(t, "p", "s")
		if v, err := s.ring.Open(row.TLSKey, projects.TLSKeyRow(row.ID)); err != nil || v.Reveal() != key || row.TLSAuthority != ours.PEM || row.TLSCert != certificate {
			t.Fatalf("stored %q %q %q, %v", row.TLSAuthority, row.TLSCert, row.TLSKey, err)
		}
		file := s.export(t, "p")
		if strings.Contains(file, "PRIVATE KEY") || !strings.Contains(file, `"key": "[secret]"`) {
			t.Errorf("export %s", file)
		}
		wantPlan(t, s.apply(t, file), "keep p", "keep p/s")
		_, err := s.tryApply(t, strings.Replace(inServer(`"enabled":true`), "https://up", "http://up", 1))
		if !strings.Contains(fieldsOf(err)["projects.p.mcpServers.s.url"], "require https") {
			t.Errorf("http later: %v", fieldsOf(err))
		}
		if got := s.refused(t, `"tls":{"key":`+quote(otherKey)+`}`); got != "tls.key" {
			t.Errorf("another key: problems with %q", got)
		}
		wantPlan(t, s.apply(t, inServer(settings("", "", ""))), "keep p", "update p/s tls.ca tls.cert tls.key")
		wantPlan(t, s.apply(t, inServer(settings("${MCP_UPSTREAM_CA}", "${MCP_UPSTREAM_CERT}", "${MCP_UPSTREAM_KEY}"))), "keep p", "update p/s tls.ca tls.cert tls.key")
		wantPlan(t, s.apply(t, s.export(t, "p")), "keep p", "keep p/s")
	})
}

func TestForwardHeadersRules(t *testing.T) {
	s := sqliteStore(t)
	for _, name := range []string{
		"Authorization", "cookie", "Proxy-X", "Mcp-Session-Id", "Connection", "Keep-Alive", "TE", "Trailer", "Transfer-Encoding", "Upgrade", "Host", "Origin", "Referer", "Accept", "Accept-Language",
		"Content-Type", "Sec-Fetch-Site", "Forwarded", "X-Forwarded-For", "Via", "X-Request-Id", "X-CSRF-Token", "Traceparent", "Tracestate", "Baggage", "X-B3-TraceId",
	} {
		if got := s.refused(t, `"forwardHeaders":{`+quote(name)+`:"X-To"}`); got != "forwardHeaders."+name {
			t.Errorf("source %s: problems with %q", name, got)
		}
		if got := s.refused(t, `"authType":"bearer","forwardHeaders":{"X-From":`+quote(name)+`}`); got != "forwardHeaders.X-From" && got != "forwardHeaders.X-from" {
			t.Errorf("target %s: problems with %q", name, got)
		}
	}
	for field, want := range map[string]string{
		`"forwardHeaders":{"X-From":"Authorization"}`:                 "",
		`"forwardHeaders":["X-A","X-B"]`:                              "",
		`"forwardHeaders":{}`:                                         "",
		`"forwardHeaders":` + object(16, names, `""`):                 "",
		`"forwardHeaders":` + object(17, names, `""`):                 "forwardHeaders",
		`"forwardHeaders":{"X-A":"","x-a":""}`:                        "forwardHeaders.x-a",
		`"forwardHeaders":{"X-A":"X-C","X-B":"X-C"}`:                  "forwardHeaders.X-B",
		`"forwardHeaders":{"X A":""}`:                                 "forwardHeaders.X A",
		`"forwardHeaders":{"X-A":"X:B"}`:                              "forwardHeaders.X-A",
		`"headers":{"X-Key":"k"},"forwardHeaders":{"X-A":"x-key"}`:    "forwardHeaders.X-A",
		`"authType":"oauth","forwardHeaders":{"X-A":"Authorization"}`: "forwardHeaders.X-A",
	} {
		if _, err := s.tryApply(t, `{"projects":{}}`, projects.ApplyOptions{Prune: true}); err != nil {
			t.Fatal(err)
		}
		if got := s.refused(t, field); got != want {
			t.Errorf("%s: problems with %q, want %q", field, got, want)
		}
	}
}

func names(i int) string { return "X-Header-" + string(rune('a'+i)) }

func TestForwardHeadersStored(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		s.apply(t, inServer(`"forwardHeaders":{"x-github-token":"authorization","X-Team":""}`))
		row := s.server(t, "p", "s")
		if d := cmp.Diff(models.StringMap{"X-Github-Token": "Authorization", "X-Team": "X-Team"}, row.ForwardHeaders); d != "" {
			t.Error(d)
		}
		wantPlan(t, s.apply(t, s.export(t, "p")), "keep p", "keep p/s")
		wantPlan(t, s.apply(t, inServer(`"enabled":true`)), "keep p", "keep p/s")
		if got := s.refused(t, `"authType":"bearer"`); got != "forwardHeaders.X-Github-Token" {
			t.Errorf("authType later: problems with %q", got)
		}
		if got := s.refused(t, `"headers":{"X-Team":"x"}`); got != "forwardHeaders.X-Team" {
			t.Errorf("header later: problems with %q", got)
		}
		wantPlan(t, s.apply(t, inServer(`"forwardHeaders":["X-Team"]`)), "keep p", "update p/s forwardHeaders")
		wantPlan(t, s.apply(t, inServer(`"forwardHeaders":{}`)), "keep p", "update p/s forwardHeaders")
		if strings.Contains(s.export(t, "p"), "forwardHeaders") {
			t.Error("exported without headers")
		}
	})
}
