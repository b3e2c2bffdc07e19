package oauthclient

import (
	"context"
	"io"
	"mime"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
)

// exchange sends requests to authorization servers: bounded in time and size,
// and only where a token may go.
type exchange struct {
	http    *http.Client
	timeout time.Duration
}

// send sends a request and reads its whole answer. The error is a failure.
func (x *exchange) send(ctx context.Context, who string, req *http.Request) (int, http.Header, []byte, error) {
	if why := insecure(req.URL.String()); why != "" {
		return 0, nil, nil, fail(Degraded, codeEndpoint, who+" "+why)
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
		return 0, nil, nil, fail(Degraded, codeMetadata, who+" sent more than 1 MiB")
	}
	return resp.StatusCode, resp.Header, body, nil
}

// getJSON reads a document. found is false when there is none: the address is
// unknown there, or answers with something else than JSON, as sites do that
// answer every path with a page. The error is a failure.
func (x *exchange) getJSON(ctx context.Context, who, address string, into any) (found bool, err error) {
	u, err := url.Parse(address)
	if err != nil {
		return false, fail(Degraded, codeMetadata, who+" has an unusable address")
	}
	status, header, body, err := x.send(ctx, who, &http.Request{Method: http.MethodGet, URL: u, Host: u.Host, Header: http.Header{}})
	switch {
	case err != nil:
		return false, err
	case status >= 500 || status == http.StatusTooManyRequests:
		return false, fail(Degraded, codeServerError, who+" answered HTTP "+http.StatusText(status))
	case status >= 300 && status < 400:
		return false, fail(Degraded, codeMetadata, who+" answered with a redirect, which is not followed")
	case status != http.StatusOK || !isJSON(header):
		return false, nil
	}
	if err := json.Unmarshal(body, into); err != nil {
		return false, fail(Degraded, codeMetadata, who+" sent metadata that cannot be read").because(err)
	}
	return true, nil
}

func isJSON(header http.Header) bool {
	t, _, err := mime.ParseMediaType(header.Get("Content-Type"))
	return err == nil && (t == "application/json" || strings.HasSuffix(t, "+json"))
}

// insecure returns why an address must not be used for OAuth, or "": it needs
// https, or http on this machine (OAuth 2.1 section 1.5).
func insecure(address string) string {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || len(address) > maxEndpoint || !visible(address):
		return "has an unusable address"
	case u.User != nil || u.Fragment != "":
		return "has an address with a user name, a password or a fragment"
	case u.Scheme == "https" || u.Scheme == "http" && isLoopback(u.Hostname()):
		return ""
	}
	return "has an address that is not https"
}

// isLoopback reports whether a host is this machine, by its name alone.
func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

// visible reports whether s holds visible ASCII only, without spaces.
func visible(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r >= 0x7f })
}
