package routestest

import (
	"crypto/sha256"
	"encoding/base64"
	"net/url"
	"testing"

	"mcpgateway/services/oauthserver"
)

// Token returns an access token that a person grants a new client for the
// endpoint with the path, such as /v1/mcp/work/request.
func (a *App) Token(t testing.TB, userID, path string) string {
	t.Helper()
	const callback, verifier = "http://127.0.0.1:4711/callback", "a-verifier-of-the-tests-with-more-than-43-characters"
	made, err := a.Services.OAuth.Register(t.Context(), []byte(`{"client_name":"Test","redirect_uris":["`+callback+`"]}`), "192.0.2.1")
	if err != nil {
		t.Fatal(err)
	}
	challenge := sha256.Sum256([]byte(verifier))
	person := oauthserver.User{ID: userID, SessionID: "browser of " + userID}
	asked, err := a.Services.OAuth.Authorize(t.Context(), url.Values{
		"client_id": {made.Client.ID}, "redirect_uri": {callback}, "response_type": {"code"}, "scope": {"mcp:read mcp:call"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(challenge[:])}, "code_challenge_method": {"S256"},
		"resource": {a.Services.Config.PublicURL.String() + path},
	}, &person)
	if err != nil {
		t.Fatal(err)
	}
	to, err := a.Services.OAuth.Decide(t.Context(), person, asked.Sealed, asked.Projects[0].ID, true)
	if err != nil {
		t.Fatal(err)
	}
	back, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	tokens, err := a.Services.OAuth.Token(t.Context(), url.Values{
		"grant_type": {"authorization_code"}, "client_id": {made.Client.ID}, "code": {back.Query().Get("code")}, "redirect_uri": {callback}, "code_verifier": {verifier},
	}, "")
	if err != nil {
		t.Fatal(err)
	}
	return tokens.Access.Reveal()
}
