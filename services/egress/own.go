package egress

import (
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
)

// Own returns a client that reaches only the origin of a URL, which is the
// gateway's own one. It also reaches internal addresses, independently of the
// upstream rules, because the operator configured the URL. Link-local, metadata
// and tunnel addresses are blocked. It keeps no connections, stores no cookies and
// returns redirects as responses. The only timeout is the request's context.
func (c *Clients) Own(own *url.URL) *http.Client {
	guard := NewGuard([]netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")})
	chosen := c.servers.chosen
	transport := newTransport(guard.control, &chosen)
	transport.DisableKeepAlives = true
	return &http.Client{
		Transport:     sameOrigin{own: originOf(own), next: transport},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// sameOrigin rejects requests to other origins.
type sameOrigin struct {
	own  origin
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (s sameOrigin) RoundTrip(req *http.Request) (*http.Response, error) {
	if to := originOf(req.URL); to != s.own {
		return nil, fmt.Errorf("requests to %s://%s are not allowed: it is not the gateway's own address", to.scheme, to.address)
	}
	return s.next.RoundTrip(req)
}
