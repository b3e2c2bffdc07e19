package oauthclient

import (
	"bytes"
	"context"
	"encoding/base64"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"mcpgateway/services/secrets"
)

// How a client proves itself at the token endpoint (RFC 7591 section 2).
const (
	authNone  = "none"
	authBasic = "client_secret_basic"
	authPost  = "client_secret_post"
)

// client is the gateway as an authorization server knows it.
type client struct {
	id     string
	secret secrets.Value
	method string
}

// authMethod returns how a client proves itself where the authorization server
// supports these methods; none listed means client_secret_basic (RFC 8414
// section 2).
func authMethod(supported []string, hasSecret bool) string {
	switch {
	case !hasSecret:
		return authNone
	case len(supported) == 0 || slices.Contains(supported, authBasic):
		return authBasic
	case slices.Contains(supported, authPost):
		return authPost
	}
	return authBasic
}

// tokens is what a token endpoint granted.
type tokens struct {
	access, refresh secrets.Value
	life            time.Duration // 0 when it was not said
	scopes          []string      // nil when they are those that were asked for
}

// ask sends a token request (RFC 6749 section 3.2). The error is a failure: its
// code is the OAuth error code where the server gave one.
func (x *exchange) ask(ctx context.Context, endpoint string, c client, form url.Values) (tokens, error) {
	status, header, body, err := x.post(ctx, "the token endpoint", endpoint, c, form)
	if err != nil {
		return tokens{}, err
	}
	var answer struct {
		Access      string     `json:"access_token"`
		Refresh     string     `json:"refresh_token"`
		Type        string     `json:"token_type"`
		Scope       *string    `json:"scope"`
		Life        jsonNumber `json:"expires_in"`
		Error       string     `json:"error"`
		Description string     `json:"error_description"`
	}
	unreadable := json.Unmarshal(body, &answer)
	switch {
	case status >= 500 || status == http.StatusTooManyRequests:
		f := fail(Degraded, codeServerError, "the token endpoint answered HTTP "+strconv.Itoa(status))
		f.retry = retryAfter(header)
		return tokens{}, f
	case unreadable == nil && answer.Error != "": // some send it with HTTP 200
		return tokens{}, refusedBy(answer.Error, answer.Description, form, c)
	case status != http.StatusOK:
		return tokens{}, fail(Degraded, codeTokenAnswer, "the token endpoint answered HTTP "+strconv.Itoa(status)+" without an OAuth error")
	case unreadable != nil:
		// What was sent could hold a token, so the cause does not go into logs.
		return tokens{}, fail(Degraded, codeTokenAnswer, "the token endpoint sent an answer that is not readable JSON")
	case answer.Type != "" && !strings.EqualFold(answer.Type, "bearer"):
		return tokens{}, fail(Degraded, codeTokenAnswer, "the token endpoint granted a token of type "+answer.Type+" instead of Bearer")
	case !visible(answer.Access) || len(answer.Access) > maxTokenLength || answer.Refresh != "" && (!visible(answer.Refresh) || len(answer.Refresh) > maxTokenLength):
		return tokens{}, fail(Degraded, codeTokenAnswer, "the token endpoint granted a token that cannot be sent")
	}
	t := tokens{access: secrets.NewValue(answer.Access), refresh: secrets.NewValue(answer.Refresh), life: answer.Life.seconds()}
	if answer.Scope != nil {
		t.scopes = append([]string{}, scopesOf(*answer.Scope)...)
	}
	return t, nil
}

// post sends a form as the client.
func (x *exchange) post(ctx context.Context, who, endpoint string, c client, form url.Values) (int, http.Header, []byte, error) {
	u, err := url.Parse(endpoint)
	if err != nil {
		return 0, nil, nil, fail(Degraded, codeEndpoint, who+" has an unusable address")
	}
	header := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
	switch c.method {
	case authBasic:
		// Both parts are form-encoded before they are joined (RFC 6749 section 2.3.1).
		pair := url.QueryEscape(c.id) + ":" + url.QueryEscape(c.secret.Reveal())
		header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(pair)))
	case authPost:
		form.Set("client_id", c.id)
		form.Set("client_secret", c.secret.Reveal())
	default:
		form.Set("client_id", c.id)
	}
	body := []byte(form.Encode())
	return x.send(ctx, who, &http.Request{
		Method: http.MethodPost, URL: u, Host: u.Host, Header: header,
		Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
		GetBody: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil },
	})
}

// refusedBy returns the failure for an OAuth error answer. What we sent never
// comes back in its text.
func refusedBy(code, description string, form url.Values, c client) *failure {
	text := "the authorization server refused: " + code
	if description != "" {
		text += " (" + description + ")"
	}
	for _, sent := range []string{form.Get("refresh_token"), form.Get("code"), form.Get("code_verifier"), form.Get("token"), c.secret.Reveal()} {
		if sent != "" {
			text = strings.ReplaceAll(text, sent, secrets.Redacted)
		}
	}
	state := Degraded
	switch code {
	case oauthInvalidGrant:
		state = NeedsReauth
	case oauthInvalidClient:
		state = RegistrationRejected
	}
	return fail(state, presentable(code), text)
}

// revoke asks for a token to be revoked (RFC 7009). The error is a failure.
func (x *exchange) revoke(ctx context.Context, endpoint string, c client, token secrets.Value, hint string) error {
	status, _, _, err := x.post(ctx, "the revocation endpoint", endpoint, c, url.Values{"token": {token.Reveal()}, "token_type_hint": {hint}})
	if err == nil && status != http.StatusOK {
		err = fail(Degraded, codeServerError, "the revocation endpoint answered HTTP "+strconv.Itoa(status))
	}
	return err
}

func retryAfter(header http.Header) time.Duration {
	s, err := strconv.Atoi(header.Get("Retry-After"))
	if err != nil || s <= 0 {
		return 0
	}
	return min(time.Duration(s)*time.Second, longestAsked)
}

// jsonNumber is a number of seconds, which some servers send as a string.
type jsonNumber float64

// UnmarshalJSON reads a number or a string that holds one.
func (n *jsonNumber) UnmarshalJSON(raw []byte) error {
	text := strings.Trim(string(raw), `"`)
	if text == "null" || text == "" {
		return nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return err
	}
	*n = jsonNumber(f)
	return nil
}

func (n jsonNumber) seconds() time.Duration {
	if !(n > 0) {
		return 0
	}
	return time.Duration(min(float64(n), maxTokenLife.Seconds()) * float64(time.Second))
}
