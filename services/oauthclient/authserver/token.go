package authserver

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"mcpgateway/services/secrets"
)

// Limits of values in responses.
const (
	maxRetryAfter = time.Hour // longer Retry-After values are reduced to it
	maxTokenLife  = 10 * 365 * 24 * time.Hour
)

// Tokens is the result of a token request.
type Tokens struct {
	Access, Refresh secrets.Value // Refresh is zero if none was issued
	Lifetime        time.Duration // of the access token; 0 if not reported
	Scopes          []string      // nil if they are the requested ones
}

// Token sends a token request (RFC 6749 section 3.2). The code of the Error is
// the OAuth error code if the server sent one.
func (x *Client) Token(ctx context.Context, endpoint string, c Credentials, form url.Values) (Tokens, error) {
	status, header, body, err := x.postForm(ctx, "The token endpoint", endpoint, c, form)
	if err != nil {
		return Tokens{}, err
	}
	var r tokenResponse
	invalid := json.Unmarshal(body, &r)
	switch {
	case status >= 500 || status == http.StatusTooManyRequests:
		e := newError(Temporary, CodeServerError, "The token endpoint responded with HTTP "+strconv.Itoa(status)+".")
		e.RetryAfter = retryAfter(header)
		return Tokens{}, e
	case invalid == nil && r.Error != "": // some send it with HTTP 200
		return Tokens{}, tokenError(r.Error, r.Description, form, c)
	case status != http.StatusOK:
		return Tokens{}, newError(Temporary, CodeTokenResponse, "The token endpoint responded with HTTP "+strconv.Itoa(status)+" without an OAuth error.")
	case invalid != nil:
		// The response may contain a token, so the error omits the cause.
		return Tokens{}, newError(Temporary, CodeTokenResponse, "The token endpoint sent invalid JSON.")
	case r.Type != "" && !strings.EqualFold(r.Type, "bearer"):
		return Tokens{}, newError(Temporary, CodeTokenResponse, "The token endpoint issued a token of type "+r.Type+" instead of Bearer.")
	case !isToken(r.Access) || r.Refresh != "" && !isToken(r.Refresh):
		return Tokens{}, newError(Temporary, CodeTokenResponse, "The token endpoint issued an invalid token.")
	}
	t := Tokens{Access: secrets.NewValue(r.Access), Refresh: secrets.NewValue(r.Refresh), Lifetime: r.Lifetime.duration()}
	if r.Scope != nil {
		t.Scopes = append([]string{}, parseScopes(*r.Scope)...)
	}
	return t, nil
}

// tokenResponse is the body of a successful or failed token response.
type tokenResponse struct {
	Access      string  `json:"access_token"`
	Refresh     string  `json:"refresh_token"`
	Type        string  `json:"token_type"`
	Scope       *string `json:"scope"`
	Lifetime    seconds `json:"expires_in"`
	Error       string  `json:"error"`
	Description string  `json:"error_description"`
}

func isToken(s string) bool { return IsVisible(s) && len(s) <= maxTokenLength }

// tokenError returns the Error of an OAuth error response. Its text omits the
// secrets of the request, which the response may repeat.
func tokenError(code, description string, form url.Values, c Credentials) *Error {
	text := "The authorization server rejected the request: " + code
	if description != "" {
		text += " (" + description + ")"
	}
	for _, sent := range []string{form.Get("refresh_token"), form.Get("code"), form.Get("code_verifier"), form.Get("token"), form.Get("client_assertion"), c.Secret.Reveal()} {
		if sent != "" {
			text = strings.ReplaceAll(text, sent, secrets.Redacted)
		}
	}
	kind := Temporary
	switch code {
	case codeInvalidGrant:
		kind = GrantRejected
	case CodeInvalidClient:
		kind = ClientRejected
	}
	return newError(kind, code, text)
}

// Revoke revokes a token (RFC 7009). hint is its token_type_hint.
func (x *Client) Revoke(ctx context.Context, endpoint string, c Credentials, token secrets.Value, hint string) error {
	status, _, _, err := x.postForm(ctx, "The revocation endpoint", endpoint, c, url.Values{"token": {token.Reveal()}, "token_type_hint": {hint}})
	if err == nil && status != http.StatusOK {
		return newError(Temporary, CodeServerError, "The revocation endpoint responded with HTTP "+strconv.Itoa(status)+".")
	}
	return err
}

func retryAfter(header http.Header) time.Duration {
	s, err := strconv.Atoi(header.Get("Retry-After"))
	if err != nil || s <= 0 {
		return 0
	}
	return min(time.Duration(s)*time.Second, maxRetryAfter)
}

// seconds is a number of seconds. Some servers send it as a string.
type seconds float64

// UnmarshalJSON parses a number or a string that contains one.
func (n *seconds) UnmarshalJSON(raw []byte) error {
	text := strings.Trim(string(raw), `"`)
	if text == "null" || text == "" {
		return nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return err
	}
	*n = seconds(f)
	return nil
}

func (n seconds) duration() time.Duration {
	if !(n > 0) {
		return 0
	}
	return time.Duration(min(float64(n), maxTokenLife.Seconds()) * float64(time.Second))
}
