package oauthclient

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"mcpgateway/services/secrets"
)

// registered is what a dynamic registration gave.
type registered struct {
	client
	secretExpires time.Time // zero when it does not
}

// registerClient registers the gateway at the authority (RFC 7591, SEP-837).
// The error is a failure of state registration_rejected when the authority
// said no.
func (x *exchange) registerClient(ctx context.Context, a *authority, redirectURI string, scopes []string, name, home string) (registered, error) {
	asked := registrationMethod(a.authMethods)
	body, err := json.Marshal(oauthex.ClientRegistrationMetadata{
		RedirectURIs: []string{redirectURI}, TokenEndpointAuthMethod: asked, GrantTypes: grantTypes(), ResponseTypes: []string{"code"},
		ClientName: name, ClientURI: home, Scope: joinScopes(scopes), ApplicationType: "web",
	})
	if err != nil {
		return registered{}, fail(Degraded, codeRegistration, "the registration could not be written").because(err)
	}
	status, answer, err := x.postJSON(ctx, "the registration endpoint", a.register, body)
	switch {
	case err != nil:
		return registered{}, err
	case status >= 500 || status == http.StatusTooManyRequests:
		return registered{}, fail(Degraded, codeServerError, "the registration endpoint answered HTTP "+strconv.Itoa(status))
	case status != http.StatusCreated && status != http.StatusOK:
		return registered{}, rejected(status, answer)
	}
	var r oauthex.ClientRegistrationResponse
	// The answer may hold a secret, so no cause goes into logs.
	if json.Unmarshal(answer, &r) != nil || !visible(r.ClientID) || len(r.ClientID) > maxEndpoint || len(r.ClientSecret) > maxTokenLength {
		return registered{}, fail(RegistrationRejected, codeRegistration, "the registration endpoint sent an answer that cannot be used")
	}
	method := r.TokenEndpointAuthMethod
	if method == "" {
		method = asked
	}
	out := registered{client: client{id: r.ClientID, method: method}}
	switch method {
	case authNone:
	case authBasic, authPost:
		if r.ClientSecret == "" {
			return registered{}, fail(RegistrationRejected, codeRegistration, "the authorization server registered the gateway for "+method+" without giving it a secret")
		}
		out.secret = secrets.NewValue(r.ClientSecret)
		if t := r.ClientSecretExpiresAt; !t.IsZero() && t.Unix() != 0 {
			out.secretExpires = t.UTC()
		}
	default:
		return registered{}, fail(RegistrationRejected, codeRegistration, "the authorization server wants the gateway to prove itself by "+method+", which it cannot")
	}
	return out, nil
}

// postJSON sends a document and returns the status and the body of the answer.
// The error is a failure.
func (x *exchange) postJSON(ctx context.Context, who, address string, body []byte) (int, []byte, error) {
	u, err := url.Parse(address)
	if err != nil {
		return 0, nil, fail(Degraded, codeEndpoint, who+" has an unusable address")
	}
	status, _, answer, err := x.send(ctx, who, &http.Request{
		Method: http.MethodPost, URL: u, Host: u.Host, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
		GetBody: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil },
	})
	return status, answer, err
}

// registrationMethod returns the authentication method to register for: a
// secret keeps a stolen refresh token useless, so none comes last.
func registrationMethod(supported []string) string {
	switch {
	case len(supported) == 0 || slices.Contains(supported, authBasic):
		return authBasic
	case slices.Contains(supported, authPost):
		return authPost
	}
	return authNone
}

func rejected(status int, answer []byte) *failure {
	var said oauthex.ClientRegistrationError
	if json.Unmarshal(answer, &said) != nil || said.ErrorCode == "" {
		return fail(RegistrationRejected, codeRegistration, "the registration endpoint answered HTTP "+strconv.Itoa(status))
	}
	text := "the authorization server does not register the gateway: " + said.ErrorCode
	if said.ErrorDescription != "" {
		text += " (" + said.ErrorDescription + ")"
	}
	return fail(RegistrationRejected, presentable(said.ErrorCode), text)
}
