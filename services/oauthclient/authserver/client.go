// Package authserver discovers the OAuth authorization servers of upstream
// servers and sends requests to them: metadata, dynamic client registration,
// tokens and revocation (MCP "Authorization"). It stores nothing.
package authserver

import (
	"bytes"
	"context"
	"encoding/base64"
	"io"
	"mime"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"mcpgateway/services/secrets"
)

// Limits of requests and responses.
const (
	maxDocument    = 1 << 20  // bytes of metadata, a registration or a token response
	maxTokenLength = 64 << 10 // bytes
	maxEndpoint    = 2048     // bytes of a URL
)

// Client sends requests to authorization servers with limited time and size,
// and only to URLs that are safe for tokens. It is safe for concurrent use.
type Client struct {
	http    *http.Client
	timeout time.Duration
}

// NewClient returns a Client that sends requests with client, which must come
// from services/egress. timeout applies to each request.
func NewClient(client *http.Client, timeout time.Duration) *Client {
	return &Client{http: client, timeout: timeout}
}

// Credentials identify the gateway at an authorization server. Key is only used
// with MethodAssertion.
type Credentials struct {
	ID     string
	Secret secrets.Value
	Method string // token_endpoint_auth_method (RFC 7591 section 2)
	Key    *SigningKey
}

// send sends a request and reads the whole response. who starts the texts of
// errors. The error is an *Error.
func (x *Client) send(ctx context.Context, who string, req *http.Request) (int, http.Header, []byte, error) {
	if why := insecure(req.URL.String()); why != "" {
		return 0, nil, nil, newError(Temporary, codeEndpoint, who+" "+why+".")
	}
	ctx, cancel := context.WithTimeout(ctx, x.timeout)
	defer cancel()
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Accept-Encoding", "identity")
	resp, err := x.http.Do(req.WithContext(ctx))
	if err != nil {
		return 0, nil, nil, unreachable(who, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxDocument+1))
	switch {
	case err != nil:
		return 0, nil, nil, unreachable(who, err)
	case len(body) > maxDocument:
		return 0, nil, nil, newError(Temporary, codeMetadata, who+" sent more than 1 MiB.")
	}
	return resp.StatusCode, resp.Header, body, nil
}

// getJSON reads a JSON document. found is false if the URL has none. That
// includes successful responses of other types, because some sites respond to
// every path with a page. The error is an *Error.
func (x *Client) getJSON(ctx context.Context, who, address string, into any) (found bool, err error) {
	u, err := url.Parse(address)
	if err != nil {
		return false, newError(Temporary, codeMetadata, who+" has an invalid URL.")
	}
	status, header, body, err := x.send(ctx, who, &http.Request{Method: http.MethodGet, URL: u, Host: u.Host, Header: http.Header{}})
	switch {
	case err != nil:
		return false, err
	case status >= 500 || status == http.StatusTooManyRequests:
		return false, newError(Temporary, CodeServerError, who+" responded with HTTP "+strconv.Itoa(status)+".")
	case status >= 300 && status < 400:
		return false, newError(Temporary, codeMetadata, who+" responded with a redirect. Redirects aren't followed.")
	case status != http.StatusOK || !isJSON(header):
		return false, nil
	}
	if err := json.Unmarshal(body, into); err != nil {
		return false, newError(Temporary, codeMetadata, who+" isn't valid JSON metadata.").because(err)
	}
	return true, nil
}

// postJSON sends a document and returns the status and body of the response.
// The error is an *Error.
func (x *Client) postJSON(ctx context.Context, who, address string, body []byte) (int, []byte, error) {
	status, _, received, err := x.post(ctx, who, address, http.Header{"Content-Type": {"application/json"}}, body)
	return status, received, err
}

// postForm sends a form with the credentials. The error is an *Error.
func (x *Client) postForm(ctx context.Context, who, endpoint string, c Credentials, form url.Values) (int, http.Header, []byte, error) {
	header := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
	switch c.Method {
	case authBasic:
		// Both parts are form-encoded before they are joined (RFC 6749 section 2.3.1).
		pair := url.QueryEscape(c.ID) + ":" + url.QueryEscape(c.Secret.Reveal())
		header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(pair)))
	case authPost:
		form.Set("client_id", c.ID)
		form.Set("client_secret", c.Secret.Reveal())
	case MethodAssertion:
		assertion, err := c.Key.assertion(c.ID, time.Now())
		if err != nil {
			return 0, nil, nil, err
		}
		form.Set("client_id", c.ID)
		form.Set("client_assertion_type", assertionType)
		form.Set("client_assertion", assertion)
	default:
		form.Set("client_id", c.ID)
	}
	return x.post(ctx, who, endpoint, header, []byte(form.Encode()))
}

func (x *Client) post(ctx context.Context, who, address string, header http.Header, body []byte) (int, http.Header, []byte, error) {
	u, err := url.Parse(address)
	if err != nil {
		return 0, nil, nil, newError(Temporary, codeEndpoint, who+" has an invalid URL.")
	}
	return x.send(ctx, who, &http.Request{
		Method: http.MethodPost, URL: u, Host: u.Host, Header: header,
		Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
		GetBody: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil },
	})
}

func isJSON(header http.Header) bool {
	t, _, err := mime.ParseMediaType(header.Get("Content-Type"))
	return err == nil && (t == "application/json" || strings.HasSuffix(t, "+json"))
}

// insecure returns the reason a URL must not be used for OAuth, or "". It must
// use https, or http to a loopback address (OAuth 2.1 section 1.5).
func insecure(address string) string {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || len(address) > maxEndpoint || !IsVisible(address):
		return "has an invalid URL"
	case u.User != nil || u.Fragment != "":
		return "has a URL with a user name, a password or a fragment"
	case u.Scheme == "https" || u.Scheme == "http" && isLoopback(u.Hostname()):
		return ""
	}
	return "has a URL without https"
}

// isLoopback reports whether a host is a loopback address or localhost. It does
// not resolve names.
func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

// IsVisible reports whether s is not empty and contains only visible ASCII
// characters without spaces.
func IsVisible(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r >= 0x7f })
}
