package authserver

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"mcpgateway/services/secrets"
)

// Client authentication methods at the token endpoint (RFC 7591 section 2).
const (
	AuthNone = "none"

	authBasic = "client_secret_basic"
	authPost  = "client_secret_post"
)

// GrantTypes returns the grant types that the gateway uses.
func GrantTypes() []string { return []string{"authorization_code", "refresh_token"} }

// AuthMethod returns the method to authenticate with a static client. Without
// published methods, client_secret_basic is supported (RFC 8414 section 2).
func (m *Metadata) AuthMethod(hasSecret bool) string {
	switch {
	case !hasSecret:
		return AuthNone
	case len(m.authMethods) == 0 || slices.Contains(m.authMethods, authBasic):
		return authBasic
	case slices.Contains(m.authMethods, authPost):
		return authPost
	}
	return authBasic
}

// registrationMethod returns the authentication method to register with. A
// secret protects a stolen refresh token, so AuthNone is the last choice.
func (m *Metadata) registrationMethod() string {
	switch {
	case len(m.authMethods) == 0 || slices.Contains(m.authMethods, authBasic):
		return authBasic
	case slices.Contains(m.authMethods, authPost):
		return authPost
	}
	return AuthNone
}

// Registration is the result of a dynamic client registration.
type Registration struct {
	Credentials
	SecretExpires time.Time // zero if the secret doesn't expire
}

// RegistrationRequest holds the client metadata of a dynamic registration.
type RegistrationRequest struct {
	RedirectURI string
	Scopes      []string
	Name, Home  string // display name and URL of the gateway
}

// Register registers the gateway at the authorization server (RFC 7591,
// SEP-837). A rejection is an Error with ClientRejected.
func (x *Client) Register(ctx context.Context, m *Metadata, r RegistrationRequest) (Registration, error) {
	method := m.registrationMethod()
	body, err := json.Marshal(oauthex.ClientRegistrationMetadata{
		RedirectURIs: []string{r.RedirectURI}, TokenEndpointAuthMethod: method, GrantTypes: GrantTypes(), ResponseTypes: []string{"code"},
		ClientName: r.Name, ClientURI: r.Home, Scope: strings.Join(r.Scopes, " "), ApplicationType: "web",
	})
	if err != nil {
		return Registration{}, newError(Temporary, CodeRegistration, "The registration request can't be encoded.").because(err)
	}
	status, received, err := x.postJSON(ctx, "The registration endpoint", m.RegistrationEndpoint, body)
	switch {
	case err != nil:
		return Registration{}, err
	case status >= 500 || status == http.StatusTooManyRequests:
		return Registration{}, newError(Temporary, CodeServerError, "The registration endpoint responded with HTTP "+strconv.Itoa(status)+".")
	case status != http.StatusCreated && status != http.StatusOK:
		return Registration{}, registrationError(status, received)
	}
	return parseRegistration(received, method)
}

// parseRegistration reads a registration response. requested is the
// authentication method of the request.
func parseRegistration(received []byte, requested string) (Registration, error) {
	var r oauthex.ClientRegistrationResponse
	// The response may contain a secret, so the error omits the cause.
	if json.Unmarshal(received, &r) != nil || !IsVisible(r.ClientID) || len(r.ClientID) > maxEndpoint || len(r.ClientSecret) > maxTokenLength {
		return Registration{}, newError(ClientRejected, CodeRegistration, "The registration endpoint sent an invalid response.")
	}
	method := r.TokenEndpointAuthMethod
	if method == "" {
		method = requested
	}
	out := Registration{Credentials: Credentials{ID: r.ClientID, Method: method}}
	switch method {
	case AuthNone:
	case authBasic, authPost:
		if r.ClientSecret == "" {
			return Registration{}, newError(ClientRejected, CodeRegistration, "The authorization server registered the gateway for "+method+" without a secret.")
		}
		out.Secret = secrets.NewValue(r.ClientSecret)
		if t := r.ClientSecretExpiresAt; !t.IsZero() && t.Unix() != 0 {
			out.SecretExpires = t.UTC()
		}
	default:
		return Registration{}, newError(ClientRejected, CodeRegistration, "The authorization server requires the unsupported authentication method "+method+".")
	}
	return out, nil
}

func registrationError(status int, received []byte) *Error {
	var body oauthex.ClientRegistrationError
	if json.Unmarshal(received, &body) != nil || body.ErrorCode == "" {
		return newError(ClientRejected, CodeRegistration, "The registration endpoint responded with HTTP "+strconv.Itoa(status)+".")
	}
	text := "The authorization server rejected the registration: " + body.ErrorCode
	if body.ErrorDescription != "" {
		text += " (" + body.ErrorDescription + ")"
	}
	return newError(ClientRejected, body.ErrorCode, text)
}
