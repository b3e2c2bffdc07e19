package oauth_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"mcpgateway/models/modelstest"
	"mcpgateway/services/oauthserver"
)

const (
	callback = "http://127.0.0.1:4711/callback"
	verifier = "a-verifier-of-the-tests-with-more-than-43-characters"
)

// register registers a client and returns its id.
func (s *site) register(t *testing.T, redirects string) string {
	t.Helper()
	a, err := s.open(t).do(t.Context(), http.MethodPost, s.base+"/oauth/register", nil)
	if err != nil || a.status != http.StatusUnsupportedMediaType {
		t.Fatalf("registration response isn't JSON: %d, %v", a.status, err)
	}
	made, err := s.Services.OAuth.Register(t.Context(), []byte(`{"client_name":"Test <client>","redirect_uris":`+redirects+`}`), "192.0.2.1")
	if err != nil {
		t.Fatal(err)
	}
	return made.Client.ID
}

// authorizeURL returns the URL of a valid authorization request with changes;
// "" removes.
func (s *site) authorizeURL(client string, changes ...string) string {
	sum := sha256.Sum256([]byte(verifier))
	q := url.Values{
		"client_id": {client}, "redirect_uri": {callback}, "response_type": {"code"}, "state": {"st"}, "scope": {"mcp:read mcp:call"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"}, "resource": {s.base + "/v1/mcp/oa/request"},
	}
	for i := 0; i+1 < len(changes); i += 2 {
		q.Set(changes[i], changes[i+1])
		if changes[i+1] == "" {
			q.Del(changes[i])
		}
	}
	return s.base + "/oauth/authorize?" + q.Encode()
}

type tokenAnswer struct {
	AccessToken  string `json:"access_token"`
	TokenType    string `json:"token_type"`
	ExpiresIn    int    `json:"expires_in"`
	RefreshToken string `json:"refresh_token"`
	Scope        string `json:"scope"`
	Error        string `json:"error"`
}

// token posts to the token endpoint.
func (s *site) token(t *testing.T, form url.Values) (tokenAnswer, response) {
	t.Helper()
	a := s.open(t).post(t, s.base+"/oauth/token", form, "Origin", "", "Sec-Fetch-Site", "")
	var got tokenAnswer
	if err := json.Unmarshal([]byte(a.body), &got); err != nil {
		t.Fatalf("%d %s", a.status, a.body)
	}
	return got, a
}

// grant returns tokens that the user granted the client.
func (s *site) grant(t *testing.T, b *browser, client string, changes ...string) tokenAnswer {
	t.Helper()
	to, err := b.allow(t.Context(), s.authorizeURL(client, changes...))
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	got, a := s.token(t, url.Values{"grant_type": {"authorization_code"}, "client_id": {client}, "code": {u.Query().Get("code")}, "redirect_uri": {callback}, "code_verifier": {verifier}})
	if a.status != http.StatusOK || got.TokenType != "Bearer" || got.ExpiresIn != 3600 || a.header.Get("Cache-Control") != "no-store" {
		t.Fatalf("%d %v %s", a.status, a.header, a.body)
	}
	return got
}

// rpc sends a JSON-RPC request to a project.
func (s *site) rpc(t *testing.T, path, token, body string, headers ...string) response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.base+"/v1/mcp/"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+token)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := s.open(t).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	return response{status: resp.StatusCode, header: resp.Header, body: readAll(t, resp)}
}

const (
	list   = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	call   = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"up__echo","arguments":{"text":"hi"}}}`
	search = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"gateway_searchMcpForTask","arguments":{"task":"echo"}}}`
)

func TestAudience(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		s := newSite(t, dsn, nil)
		bob := s.signIn(t, "bob@example.com")
		tokens := s.grant(t, bob, s.register(t, `["`+callback+`"]`))
		for _, path := range []string{"oa/request", "oa/sse"} {
			if a := s.rpc(t, path, tokens.AccessToken, call); a.status != http.StatusOK || !strings.Contains(a.body, `"result"`) {
				t.Errorf("%s: %d %s", path, a.status, a.body)
			}
		}
		for _, path := range []string{"ob/request", "ob/sse", "key/request"} {
			a := s.rpc(t, path, tokens.AccessToken, list)
			if a.status != http.StatusUnauthorized || strings.HasPrefix(path, "ob") && !strings.HasSuffix(a.header.Get("WWW-Authenticate"), `, error="invalid_token"`) {
				t.Errorf("%s: %d %v", path, a.status, a.header)
			}
		}
		for name, token := range map[string]string{"refresh": tokens.RefreshToken, "shorter": tokens.AccessToken[:30], "none": ""} {
			if a := s.rpc(t, "oa/request", token, list); a.status != http.StatusUnauthorized {
				t.Errorf("token %s: %d", name, a.status)
			}
		}
		if a := s.rpc(t, "oa/request?access_token="+tokens.AccessToken, "x", list); a.status != http.StatusUnauthorized {
			t.Errorf("token in the URL: %d", a.status)
		}
		revoked := s.open(t).post(t, s.base+"/oauth/revoke", url.Values{"client_id": {clientOf(t, s)}, "token": {tokens.RefreshToken}}, "Origin", "", "Sec-Fetch-Site", "")
		if revoked.status != http.StatusOK || revoked.body != "" {
			t.Errorf("revocation: %d %s", revoked.status, revoked.body)
		}
		if a := s.rpc(t, "oa/request", tokens.AccessToken, list); a.status != http.StatusUnauthorized {
			t.Errorf("after revocation: %d", a.status)
		}
		if strings.Contains(s.Log.String(), tokens.AccessToken) || strings.Contains(s.Log.String(), tokens.RefreshToken) {
			t.Error("log contains a token")
		}
	})
}

// clientOf returns the id of the only client.
func clientOf(t *testing.T, s *site) string {
	t.Helper()
	var ids []string
	if err := s.Services.DB.Table("oauth_clients").Pluck("id", &ids).Error; err != nil || len(ids) != 1 {
		t.Fatalf("%v, %v", ids, err)
	}
	return ids[0]
}

func TestStepUp(t *testing.T) {
	s := onSQLite(t)
	bob := s.signIn(t, "bob@example.com")
	client := s.register(t, `["`+callback+`"]`)
	read, both, calls := s.grant(t, bob, client, "scope", "mcp:read"), s.grant(t, bob, client), s.grant(t, bob, client, "scope", "mcp:call")
	challenge := func(endpoint string) string {
		return `Bearer resource_metadata="` + s.base + `/.well-known/oauth-protected-resource/v1/mcp/oa/` + endpoint + `", scope="mcp:call", error="insufficient_scope"`
	}
	for _, tc := range []struct {
		name, path, token, body string
		status                  int
	}{
		{"list with read", "oa/request", read.AccessToken, list, 200},
		{"search with read", "oa/request", read.AccessToken, search, 200},
		{"call with read", "oa/request", read.AccessToken, call, 403},
		{"execute with read", "oa/request", read.AccessToken, strings.ReplaceAll(search, "gateway_searchMcpForTask", "gateway_executeTool"), 403},
		{"unknown tool with read", "oa/request", read.AccessToken, strings.ReplaceAll(call, "up__echo", "nothing"), 403},
		{"call without params", "oa/request", read.AccessToken, `{"jsonrpc":"2.0","id":1,"method":"tools/call"}`, 403},
		{"repeated name", "oa/request", read.AccessToken, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"gateway_searchMcpForTask","name":"up__echo"}}`, 0},
		{"batch with a call", "oa/request", read.AccessToken, "[" + list + "," + call + "]", 403},
		{"notified call", "oa/request", read.AccessToken, strings.Replace(call, `"id":1,`, "", 1), 403},
		{"bridge with read", "oa/sse", read.AccessToken, call, 403},
		{"list with both", "oa/request", both.AccessToken, list, 200},
		{"call with both", "oa/request", both.AccessToken, call, 200},
		{"call implies read", "oa/request", calls.AccessToken, list, 200},
		{"search with call", "oa/request", calls.AccessToken, search, 200},
		{"call with call", "oa/request", calls.AccessToken, call, 200},
	} {
		a := s.rpc(t, tc.path, tc.token, tc.body)
		switch {
		case tc.status == 0: // invalid JSON or a missing scope; nothing is called
			if a.status != 400 && a.status != 403 {
				t.Errorf("%s: %d %s", tc.name, a.status, a.body)
			}
		case a.status != tc.status:
			t.Errorf("%s: %d, want %d; %s", tc.name, a.status, tc.status, a.body)
		case tc.status == 403 && (a.header.Get("WWW-Authenticate") != challenge(tc.path[3:]) || !strings.Contains(a.body, "FORBIDDEN")):
			t.Errorf("%s: %s %s", tc.name, a.header.Get("WWW-Authenticate"), a.body)
		case tc.status == 200 && a.header.Get("WWW-Authenticate") != "":
			t.Errorf("%s: %v", tc.name, a.header)
		}
	}
}

func TestSessionsBelongToUser(t *testing.T) {
	s := onSQLite(t)
	client := s.register(t, `["`+callback+`"]`)
	bob, ann := s.signIn(t, "bob@example.com"), s.signIn(t, "ann@example.com")
	mine, renewed, theirs := s.grant(t, bob, client), s.grant(t, bob, client), s.grant(t, ann, client)
	begun := s.rpc(t, "oa/request", mine.AccessToken, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	session := begun.header.Get("Mcp-Session-Id")
	if begun.status != 200 || session == "" {
		t.Fatalf("%d %s", begun.status, begun.body)
	}
	for name, tc := range map[string]struct {
		token  string
		status int
	}{"the same token": {mine.AccessToken, 200}, "a later token": {renewed.AccessToken, 200}, "somebody else's": {theirs.AccessToken, 404}} {
		if a := s.rpc(t, "oa/request", tc.token, list, "Mcp-Session-Id", session); a.status != tc.status {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
}

func TestTokensEndWithUserAccess(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		s := newSite(t, dsn, nil)
		client := s.register(t, `["`+callback+`"]`)
		tokens := s.grant(t, s.signIn(t, "bob@example.com"), client)
		bob := personID(t, s, "bob@example.com")
		opens := func(want int, when string) {
			t.Helper()
			if a := s.rpc(t, "oa/request", tokens.AccessToken, list); a.status != want {
				t.Errorf("%s: %d %s", when, a.status, a.body)
			}
		}
		opens(200, "at first")
		if err := s.Services.People.Disable(t.Context(), bob); err != nil {
			t.Fatal(err)
		}
		opens(401, "disabled")
		if err := s.Services.People.Enable(t.Context(), bob); err != nil {
			t.Fatal(err)
		}
		opens(200, "enabled again")
		s.Apply(t, `{"projects":{"oa":{"authMode":"api_key"}}}`)
		opens(401, "the project takes keys")
		s.Apply(t, `{"projects":{"oa":{"authMode":"oauth"}}}`)
		opens(200, "the project takes tokens again")
		if err := s.Services.People.Delete(t.Context(), bob); err != nil {
			t.Fatal(err)
		}
		opens(401, "deleted")
	})
}

func TestRegistrationJSON(t *testing.T) {
	s := onSQLite(t)
	b := s.open(t)
	post := func(path, body string, headers ...string) response {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.base+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "text/html")
		for i := 0; i+1 < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		resp, err := b.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		return response{status: resp.StatusCode, header: resp.Header, body: readAll(t, resp)}
	}
	a := post("/register", `{"client_name":"c","application_type":"web","redirect_uris":["cursor://anysphere.cursor-mcp/oauth/callback","javascript:1"]}`)
	var made struct {
		ClientID     string   `json:"client_id"`
		RedirectURIs []string `json:"redirect_uris"`
		AuthMethod   string   `json:"token_endpoint_auth_method"`
		Secret       *string  `json:"client_secret"`
	}
	if err := json.Unmarshal([]byte(a.body), &made); err != nil || a.status != http.StatusCreated || len(made.RedirectURIs) != 1 || made.AuthMethod != "none" || made.Secret != nil || made.ClientID == "" {
		t.Errorf("%d %s, %v", a.status, a.body, err)
	}
	a = post("/oauth/register", `{"redirect_uris":["javascript:1"]}`)
	if a.status != 400 || !strings.Contains(a.body, `"error":"invalid_redirect_uri"`) || !strings.HasPrefix(a.header.Get("Content-Type"), "application/json") {
		t.Errorf("%d %v %s", a.status, a.header, a.body)
	}
	a = post("/oauth/register", `{"redirect_uris":["`+callback+`"],"token_endpoint_auth_method":"client_secret_basic"}`)
	if a.status != 201 || !strings.Contains(a.body, `"client_secret":"gwcs_`) || !strings.Contains(a.body, `"client_secret_expires_at":0`) || a.header.Get("Cache-Control") != "no-store" {
		t.Errorf("%d %s", a.status, a.body)
	}
	for i := 3; i < oauthserver.RegistrationsPerHour; i++ {
		if a = post("/oauth/register", `{}`); a.status != 400 {
			t.Fatalf("registration %d: %d %s", i+1, a.status, a.body)
		}
	}
	if a = post("/oauth/register", `{}`); a.status != http.StatusTooManyRequests || a.header.Get("Retry-After") == "" || !strings.Contains(a.body, "RATE_LIMITED") {
		t.Errorf("11th registration: %d %v %s", a.status, a.header, a.body)
	}
}

func TestTokenEndpointJSON(t *testing.T) {
	s := onSQLite(t)
	client := s.register(t, `["`+callback+`"]`)
	for name, tc := range map[string]struct {
		form    url.Values
		headers []string
		status  int
		want    string
	}{
		"no form":        {url.Values{}, []string{"Content-Type", "application/json"}, 400, "invalid_request"},
		"compressed":     {url.Values{}, []string{"Content-Encoding", "gzip"}, 400, "invalid_request"},
		"repeated":       {url.Values{"client_id": {client, client}}, nil, 400, "invalid_request"},
		"unknown client": {url.Values{"client_id": {"x"}}, nil, 401, "invalid_client"},
		"bad code":       {url.Values{"client_id": {client}, "grant_type": {"authorization_code"}, "code": {"x"}}, nil, 400, "invalid_grant"},
		"other grant":    {url.Values{"client_id": {client}, "grant_type": {"client_credentials"}}, nil, 400, "unsupported_grant_type"},
	} {
		a := s.open(t).post(t, s.base+"/token", tc.form, append(tc.headers, "Origin", "https://inspector.example")...)
		var got tokenAnswer
		if err := json.Unmarshal([]byte(a.body), &got); err != nil || a.status != tc.status || got.Error != tc.want || a.header.Get("Cache-Control") != "no-store" || a.header.Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("%s: %d %v %s", name, a.status, a.header, a.body)
		}
	}
	a := s.open(t).post(t, s.base+"/token", url.Values{"x": {strings.Repeat("x", oauthserver.MaxTokenRequest)}})
	if a.status != http.StatusRequestEntityTooLarge || !strings.Contains(a.body, "PAYLOAD_TOO_LARGE") {
		t.Errorf("too large: %d %s", a.status, a.body)
	}
	a = s.open(t).post(t, s.base+"/oauth/token", url.Values{}, "Authorization", "Basic eDp5")
	if a.status != 401 || !strings.HasPrefix(a.header.Get("WWW-Authenticate"), "Basic ") {
		t.Errorf("rejected Basic header: %d %v", a.status, a.header)
	}
}
