package doctor

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"mcpgateway/models"
	"mcpgateway/services/oauthserver"
)

// redirectURI is that of the run's client. Nothing listens there: the doctor reads
// the code from the redirect itself.
const redirectURI = "http://127.0.0.1/gateway-doctor"

// serverMetadata is the metadata of the authorization server, and what the run got
// from it.
type serverMetadata struct {
	Issuer       string   `json:"issuer"`
	Authorize    string   `json:"authorization_endpoint"`
	Token        string   `json:"token_endpoint"`
	Registration string   `json:"registration_endpoint"`
	Challenges   []string `json:"code_challenge_methods_supported"`

	clientID, code, verifier string
}

// challenge checks the response to a client without credentials.
func (r *run) challenge(ctx context.Context) outcome {
	got, err := r.rpc(ctx, initializeBody)
	if err != nil {
		return stop(clip(err.Error()), "Run the doctor again.")
	}
	value := got.header.Get("WWW-Authenticate")
	switch mode := r.At.Project().AuthMode; {
	case mode == models.AuthNone && got.status == http.StatusOK:
		return ok("The project needs no credentials.")
	case mode == models.AuthNone:
		return stop(fmt.Sprintf("HTTP %d instead of 200. %s", got.status, got.message()), "Turn off the proxy's own authentication for /v1/mcp/.")
	case got.status != http.StatusUnauthorized:
		return stop(fmt.Sprintf("HTTP %d instead of 401 for a client without credentials. %s", got.status, got.message()), "Let the proxy return 401 responses unchanged, and add no credentials itself.")
	case value == "":
		return stop("The proxy removes the WWW-Authenticate header.", "Let the proxy return 401 responses with all their headers (nginx: proxy_intercept_errors off;).")
	case mode == models.AuthOAuth && !strings.Contains(value, `resource_metadata="`+r.resourceURL()+`"`):
		return fail("The challenge doesn't lead to the metadata: "+clip(value), "Let the proxy pass the WWW-Authenticate header on unchanged.")
	}
	return ok("%s", clip(value))
}

func (r *run) resourceURL() string {
	return r.Public.String() + "/.well-known/oauth-protected-resource" + r.At.Path() + "/request"
}

// document reads a metadata document.
func (r *run) document(ctx context.Context, address string, into any) *outcome {
	got, err := r.send(ctx, request{method: http.MethodGet, url: address})
	if err != nil {
		o := stop(clip(err.Error()), "Run the doctor again.")
		return &o
	}
	if got.status != http.StatusOK || json.Unmarshal(got.body, into) != nil {
		o := stop(fmt.Sprintf("%s responded with HTTP %d and no usable JSON.", address, got.status), "Forward /.well-known/ to the gateway unchanged. Many servers answer it themselves.")
		return &o
	}
	return nil
}

func (r *run) resourceMetadata(ctx context.Context) outcome {
	var found struct {
		Resource string   `json:"resource"`
		Servers  []string `json:"authorization_servers"`
	}
	if o := r.document(ctx, r.resourceURL(), &found); o != nil {
		return *o
	}
	if want := r.base + "/request"; found.Resource != want || !slices.Contains(found.Servers, r.Public.String()) {
		return stop("It names "+clip(found.Resource)+" instead of "+want+".", "Set GATEWAY_PUBLIC_URL of all replicas to the same address.")
	}
	return ok("%s", r.resourceURL())
}

func (r *run) serverMetadata(ctx context.Context) outcome {
	address := r.Public.String() + "/.well-known/oauth-authorization-server"
	if o := r.document(ctx, address, &r.server); o != nil {
		return *o
	}
	if r.server.Issuer != r.Public.String() || !strings.HasPrefix(r.server.Token, r.Public.String()+"/") || !strings.HasPrefix(r.server.Registration, r.Public.String()+"/") {
		return stop("It names the issuer "+clip(r.server.Issuer)+" instead of "+r.Public.String()+".", "Set GATEWAY_PUBLIC_URL of all replicas to the same address.")
	}
	return ok("%s", address)
}

// registration registers a client, as clients do that were never here.
func (r *run) registration(ctx context.Context) outcome {
	name := Name + " " + rand.Text()
	body, err := json.Marshal(map[string]any{"client_name": name, "redirect_uris": []string{redirectURI}, "token_endpoint_auth_method": "none"})
	if err != nil {
		return stop(err.Error(), "Run the doctor again.")
	}
	// By name: the response, and the client's ID in it, may not arrive.
	r.left = append(r.left, leftover{"temporary client", func(ctx context.Context) error { return r.OAuth.DiscardNamed(ctx, name) }})
	got, err := r.send(ctx, request{method: http.MethodPost, url: r.server.Registration, body: string(body)})
	if err != nil {
		return stop(clip(err.Error()), "Run the doctor again.")
	}
	var client struct {
		ID string `json:"client_id"`
	}
	if got.status == http.StatusTooManyRequests {
		return stop(got.message(), "Wait an hour: an address may register %d clients an hour.", oauthserver.RegistrationsPerHour)
	}
	if got.status != http.StatusCreated || json.Unmarshal(got.body, &client) != nil || client.ID == "" {
		return stop(fmt.Sprintf("HTTP %d instead of 201. %s", got.status, got.message()), "Forward POST /oauth/register to the gateway unchanged.")
	}
	r.server.clientID = client.ID
	return ok("A temporary client was registered.")
}

// pkce records the consent of the user and checks that a wrong verifier is
// refused.
func (r *run) pkce(ctx context.Context) outcome {
	if !slices.Contains(r.server.Challenges, "S256") {
		return stop("The metadata doesn't offer S256.", "Forward /.well-known/ to the gateway unchanged.")
	}
	if r.UserID == "" {
		r.broken = true
		return skip("Not tested: signing in needs a person. Run the doctor on the Connect page.")
	}
	if o := r.consent(ctx); o != nil {
		return *o
	}
	got, err := r.exchange(ctx, rand.Text()+rand.Text())
	switch {
	case err != nil:
		return stop(clip(err.Error()), "Run the doctor again.")
	case got.status == http.StatusOK:
		return stop("A wrong verifier was accepted.", "Forward POST /oauth/token to the gateway unchanged, and don't cache its responses.")
	case got.status != http.StatusBadRequest:
		return stop(fmt.Sprintf("HTTP %d instead of 400 for a wrong verifier. %s", got.status, got.message()), "Forward POST /oauth/token to the gateway unchanged.")
	}
	return ok("S256 is offered, and a wrong verifier is refused.")
}

// consent gets an authorization code. A person would decide on the page that
// /oauth/authorize shows.
func (r *run) consent(ctx context.Context) *outcome {
	r.server.verifier = rand.Text() + rand.Text()
	sum := sha256.Sum256([]byte(r.server.verifier))
	person := oauthserver.User{ID: r.UserID, SessionID: "doctor " + rand.Text()}
	asked, err := r.OAuth.Authorize(ctx, url.Values{
		"client_id": {r.server.clientID}, "redirect_uri": {redirectURI}, "response_type": {"code"}, "resource": {r.base + "/request"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"},
	}, &person)
	var to string
	if err == nil {
		to, err = r.OAuth.Decide(ctx, person, asked.Sealed, r.At.Project().ID, true)
	}
	var location *url.URL
	if err == nil {
		location, err = url.Parse(to)
	}
	if err != nil {
		o := stop("You can't connect to this project yourself: "+clip(err.Error()), "Give yourself access to the project, or let someone with access run the doctor.")
		return &o
	}
	r.server.code = location.Query().Get("code")
	return nil
}

// exchange sends the code to the token endpoint.
func (r *run) exchange(ctx context.Context, verifier string) (*response, error) {
	form := url.Values{"grant_type": {"authorization_code"}, "code": {r.server.code}, "client_id": {r.server.clientID}, "redirect_uri": {redirectURI}, "code_verifier": {verifier}, "resource": {r.base + "/request"}}
	return r.send(ctx, request{http.MethodPost, r.server.Token, map[string]string{"Content-Type": "application/x-www-form-urlencoded"}, form.Encode()})
}

func (r *run) token(ctx context.Context) outcome {
	got, err := r.exchange(ctx, r.server.verifier)
	if err != nil {
		return stop(clip(err.Error()), "Run the doctor again.")
	}
	var tokens struct {
		Access string `json:"access_token"`
	}
	if got.status != http.StatusOK || json.Unmarshal(got.body, &tokens) != nil || tokens.Access == "" {
		return stop(fmt.Sprintf("HTTP %d instead of 200. %s", got.status, got.message()), "Forward POST /oauth/token to the gateway unchanged.")
	}
	r.bearer = tokens.Access
	return ok("An access token was issued.")
}
