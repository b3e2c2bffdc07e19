package oauth_test

import (
	"crypto/sha256"
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
)

// toolsetsOf declares toolsets of one tool each in the projects oa and ob.
const toolsetsOf = `{"projects":{
	"oa":{"toolsets":{"reader":{"name":"Reader of echoes","include":["up__echo"]},"writer":{"include":["up__*"],"exclude":["up__echo"]}}},
	"ob":{"toolsets":{"reader":{"include":["up__echo"]}}}}}`

var (
	challenged = regexp.MustCompile(`resource_metadata="([^"]+)"`)
	requestIDs = regexp.MustCompile(`"requestId":"[^"]*"`)
)

// discover follows the challenge of an endpoint to its metadata, as clients do,
// and returns the resource.
func (s *site) discover(t *testing.T, path string) string {
	t.Helper()
	challenge := challenged.FindStringSubmatch(s.rpc(t, path, "", list).header.Get("WWW-Authenticate"))
	if challenge == nil || challenge[1] != s.base+"/.well-known/oauth-protected-resource/v1/mcp/"+path {
		t.Fatalf("challenge of %s: %v", path, challenge)
	}
	var document struct{ Resource string }
	if err := json.Unmarshal([]byte(s.open(t).get(t, challenge[1]).body), &document); err != nil {
		t.Fatal(err)
	}
	return document.Resource
}

// refusal returns the response to a token without its request id.
func (s *site) refusal(t *testing.T, path, token string) string {
	t.Helper()
	a := s.rpc(t, path, token, list)
	if a.status != http.StatusUnauthorized || !strings.HasSuffix(a.header.Get("WWW-Authenticate"), `error="invalid_token"`) {
		t.Errorf("%s: %d %s", path, a.status, a.header.Get("WWW-Authenticate"))
	}
	return a.header.Get("WWW-Authenticate") + requestIDs.ReplaceAllString(a.body, "")
}

// TestToolsetIsResource authorizes a client for each endpoint of a toolset. Its
// tokens are valid nowhere else, and tokens of the project aren't valid there.
func TestToolsetIsResource(t *testing.T) {
	s := onSQLite(t)
	s.Apply(t, toolsetsOf)
	client := s.register(t, `["`+callback+`"]`)
	bob := s.signIn(t, "bob@example.com")
	project := s.grant(t, bob, client)
	all := []string{"oa", "oa/toolsets/writer", "oa/toolsets/reader", "ob", "ob/toolsets/reader"}
	for _, kind := range []string{"/request", "/sse"} {
		const reader = "oa/toolsets/reader"
		resource := s.discover(t, reader+kind)
		if resource != s.base+"/v1/mcp/"+reader+kind {
			t.Fatalf("resource %q of %s", resource, reader+kind)
		}
		page := bob.get(t, s.authorizeURL(client, "resource", resource)).body
		if !strings.Contains(page, "Reader of echoes") || !strings.Contains(page, "1 tool") || strings.Contains(page, "3 tools") {
			t.Errorf("consent page for %s: %s", resource, page)
		}
		tokens := s.grant(t, bob, client, "resource", resource)
		got, _ := s.token(t, url.Values{"grant_type": {"refresh_token"}, "client_id": {client}, "refresh_token": {tokens.RefreshToken}, "resource": {s.base + "/v1/mcp/oa/request"}})
		if got.Error != "invalid_target" {
			t.Errorf("token of %s renewed for the project: %+v", resource, got)
		}
		renewed, _ := s.token(t, url.Values{"grant_type": {"refresh_token"}, "client_id": {client}, "refresh_token": {tokens.RefreshToken}})
		for _, token := range []string{tokens.AccessToken, renewed.AccessToken} {
			if a := s.rpc(t, reader+"/request", token, list); a.status != 200 || !strings.Contains(a.body, `"up__echo"`) || strings.Count(a.body, `"up__`) != 1 {
				t.Errorf("list: %d %s", a.status, a.body)
			}
			for _, at := range []string{reader + "/request", reader + "/sse"} {
				if a := s.rpc(t, at, token, call); a.status != 200 || !strings.Contains(a.body, `"result"`) {
					t.Errorf("call at %s: %d %s", at, a.status, a.body)
				}
			}
			for _, at := range all {
				for _, other := range []string{"/request", "/sse"} {
					if at == reader {
						if s.refusal(t, at+other, project.AccessToken) != s.refusal(t, at+other, "gwat_never") {
							t.Errorf("the project's token gets another refusal at %s", at+other)
						}
						continue
					}
					if s.refusal(t, at+other, token) != s.refusal(t, at+other, "gwat_never") {
						t.Errorf("the toolset's token gets another refusal at %s", at+other)
					}
				}
			}
		}
	}
}

// TestOldReplicaRefusesToolsetTokens looks up the secrets of toolset endpoints as
// releases without toolsets do, by their plain hash.
func TestOldReplicaRefusesToolsetTokens(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		s := newSite(t, dsn, nil)
		s.Apply(t, toolsetsOf)
		client := s.register(t, `["`+callback+`"]`)
		bob := s.signIn(t, "bob@example.com")
		code := func(changes ...string) string {
			to, err := bob.allow(t.Context(), s.authorizeURL(client, changes...))
			if err != nil {
				t.Fatal(err)
			}
			u, err := url.Parse(to)
			if err != nil {
				t.Fatal(err)
			}
			return u.Query().Get("code")
		}
		reader := []string{"resource", s.base + "/v1/mcp/oa/toolsets/reader/request"}
		whole, scoped := s.grant(t, bob, client), s.grant(t, bob, client, reader...)
		wholeCode, scopedCode := code(), code(reader...)
		var hashes [][]byte
		for _, table := range []string{"oauth_tokens", "oauth_codes"} {
			var of [][]byte
			if err := s.Services.DB.Table(table).Pluck("hash", &of).Error; err != nil {
				t.Fatal(err)
			}
			hashes = append(hashes, of...)
		}
		for text, want := range map[string]bool{
			whole.AccessToken: true, whole.RefreshToken: true, wholeCode: true, scoped.AccessToken: false, scoped.RefreshToken: false, scopedCode: false,
		} {
			hash := sha256.Sum256([]byte(text))
			if found := slices.ContainsFunc(hashes, func(h []byte) bool { return string(h) == string(hash[:]) }); found != want {
				t.Errorf("%.5s found by the plain hash: %t, want %t", text, found, want)
			}
		}
	})
}

// TestToolsetTokenEnds removes what a token for a toolset depends on.
func TestToolsetTokenEnds(t *testing.T) {
	s := onSQLite(t)
	s.Apply(t, `{"projects":{"oa":{"oauthAccess":"members"}}}`)
	s.Apply(t, toolsetsOf)
	client := s.register(t, `["`+callback+`"]`)
	bob, id := s.signIn(t, "bob@example.com"), personID(t, s, "bob@example.com")
	resource := s.base + "/v1/mcp/oa/toolsets/reader/request"
	if _, err := bob.allow(t.Context(), s.authorizeURL(client, "resource", resource)); err == nil {
		t.Error("a person who holds nothing authorized a client")
	}
	oa, err := s.Services.Directory.Project("oa")
	if err != nil {
		t.Fatal(err)
	}
	var reader, writer string
	for _, row := range oa.Toolsets {
		if row.Slug == "reader" {
			reader = row.ID
		} else {
			writer = row.ID
		}
	}
	grant := func(toolset string) string {
		return s.Grant(t, "oa", models.ProjectGrant{SubjectKind: models.SubjectPerson, SubjectID: id, ToolsetID: toolset, Role: models.GrantUse})
	}
	grant(writer)
	held := grant(reader)
	tokens := s.grant(t, bob, client, "resource", resource)
	works := func(want bool, when string) {
		t.Helper()
		if !want {
			if s.refusal(t, "oa/toolsets/reader/request", tokens.AccessToken) != s.refusal(t, "oa/toolsets/reader/request", "gwat_never") {
				t.Errorf("%s: another refusal", when)
			}
			return
		}
		if a := s.rpc(t, "oa/toolsets/reader/request", tokens.AccessToken, list); a.status != 200 {
			t.Errorf("%s: %d %s", when, a.status, a.body)
		}
	}
	works(true, "granted")
	s.Withdraw(t, "oa", held)
	works(false, "withdrawn")
	if got, _ := s.token(t, url.Values{"grant_type": {"refresh_token"}, "client_id": {client}, "refresh_token": {tokens.RefreshToken}}); got.Error != "invalid_grant" {
		t.Errorf("renewed without the toolset: %+v", got)
	}
	grant(reader)
	works(true, "granted again")
	if err := s.Services.Toolsets.Delete(t.Context(), "oa", "reader", true); err != nil {
		t.Fatal(err)
	}
	if a := s.rpc(t, "oa/toolsets/reader/request", tokens.AccessToken, list); a.status != http.StatusNotFound {
		t.Errorf("deleted: %d %s", a.status, a.body)
	}
	s.Apply(t, toolsetsOf) // another toolset with the slug
	works(false, "created again")
}
