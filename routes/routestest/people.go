package routestest

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"mcpgateway/models"
	"mcpgateway/services/access/keys"
	"mcpgateway/services/notify"
	"mcpgateway/services/oauthclient"
	"mcpgateway/services/oauthserver"
	"mcpgateway/services/secrets"
	"mcpgateway/services/upstream/upstreamtest"
	"mcpgateway/web/conn"
)

// Serve serves the application on a free port of 127.0.0.1 until the test ends
// and returns its origin.
func (a *App) Serve(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- a.Listener(conn.Listener(listener)) }()
	t.Cleanup(func() {
		if err := a.ShutdownWithTimeout(30 * time.Second); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		if err := <-ended; err != nil {
			t.Errorf("listening: %v", err)
		}
	})
	return "http://" + listener.Addr().String()
}

// Person creates a member without a password and returns their ID.
func (a *App) Person(t testing.TB, name string) (userID string) {
	t.Helper()
	email := name + "@example.com"
	row := models.User{ID: "u-" + name, Email: email, EmailFold: email, Name: name, Role: models.RoleMember, CreatedAt: time.Now().UTC()}
	if err := a.Services.DB.Create(&row).Error; err != nil {
		t.Fatal(err)
	}
	if err := notify.Touch(a.Services.DB, notify.People()); err != nil {
		t.Fatal(err)
	}
	if err := a.Services.Rights.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	return row.ID
}

// PersonalKey returns a new key that a person made for a project.
func (a *App) PersonalKey(t testing.TB, slug, userID string) string {
	t.Helper()
	_, key, err := a.Services.Own.CreateKey(t.Context(), userID, slug, keys.Attributes{Name: "laptop", Lifetime: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	return key.Reveal()
}

// PersonalToken returns an access token of a client that a person authorized for
// a project.
func (a *App) PersonalToken(t testing.TB, slug, userID string) string {
	t.Helper()
	const redirect, verifier = "http://127.0.0.1/callback", "a-verifier-of-the-tests-that-has-at-least-43-characters"
	client := models.OAuthClient{
		ID: "gwc_" + uuid.NewString(), Kind: models.ClientRegistered, Name: "Test client", RedirectURIs: []string{redirect}, AuthMethod: models.AuthMethodNone,
		SecretHash: []byte{}, CreatedAt: time.Now().UTC(),
	}
	if err := a.Services.DB.Create(&client).Error; err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(verifier))
	server, person := a.Services.OAuth, oauthserver.User{ID: userID, SessionID: "browser of " + userID}
	consent, err := server.Authorize(t.Context(), url.Values{
		"client_id": {client.ID}, "redirect_uri": {redirect}, "response_type": {"code"}, "state": {"s"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"}, "resource": {server.Issuer() + "/v1/mcp/" + slug + "/request"},
	}, &person)
	if err != nil {
		t.Fatal(err)
	}
	to, err := server.Decide(t.Context(), person, consent.Sealed, "", true)
	if err != nil {
		t.Fatal(err)
	}
	back, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	tokens, err := server.Token(t.Context(), url.Values{
		"grant_type": {"authorization_code"}, "client_id": {client.ID}, "code": {back.Query().Get("code")}, "redirect_uri": {redirect}, "code_verifier": {verifier},
	}, "")
	if err != nil {
		t.Fatal(err)
	}
	return tokens.Access.Reveal()
}

// Connect connects a person's own account at a server with OAuth. name is the
// person's name at the upstream server.
func (a *App) Connect(t testing.TB, serverID, userID, name string, inventory bool) {
	t.Helper()
	browser := "browser of " + userID
	at, err := a.Services.Connections.Start(t.Context(), oauthclient.Start{ServerID: serverID, SessionID: browser, UserID: userID, Inventory: inventory})
	if err != nil {
		t.Fatal(err)
	}
	back := a.visit(t, at+"&person="+url.QueryEscape(name))
	q := back.Query()
	_, err = a.Services.Connections.Finish(t.Context(), oauthclient.Callback{
		SessionID: browser, UserID: userID, IssuerID: strings.TrimPrefix(strings.TrimPrefix(back.Path, oauthclient.CallbackPath), "/"),
		State: q.Get("state"), Code: q.Get("code"), Issuer: q.Get("iss"), HasIssuer: q.Has("iss"),
	})
	if err != nil {
		t.Fatal(err)
	}
}

// visit opens an address and returns where it redirects to.
func (a *App) visit(t testing.TB, address string) *url.URL {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	to, err := response.Location()
	if err != nil {
		t.Fatalf("%s: status %d, %v", address, response.StatusCode, err)
	}
	return to
}

// EnterToken connects a person's own account at a server with a new token of the
// person there.
func (a *App) EnterToken(t testing.TB, e *upstreamtest.EchoServer, serverID, userID, name string, inventory bool) {
	t.Helper()
	token := oauthclient.PersonalToken{Bearer: secrets.NewValue(e.Grant(name)), Inventory: inventory}
	if err := a.Services.Connections.StoreToken(context.WithoutCancel(t.Context()), serverID, userID, token); err != nil {
		t.Fatal(err)
	}
}
