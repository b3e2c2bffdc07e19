package egress

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"syscall"
	"time"
)

// Limits of requests by submitted code.
const (
	fetchRedirectLimit = 5
	fetchIdleConns     = 32
	fetchHeaderTimeout = 10 * time.Second
	fetchIdleTimeout   = 10 * time.Second
)

// Fetch returns the client for requests by submitted code. It reaches only
// public addresses on ports 80 and 443, independently of the upstream rules. It
// stores no cookies and follows at most 5 redirects, each checked like the
// first address. Credentials in headers are sent only to the first origin. A
// rejected address or port is an error that errors.As finds as *Blocked. The
// only timeout is the request's context.
func (c *Clients) Fetch() *http.Client { return c.fetch }

type redirectsKey struct{}

// WithoutRedirects returns a context in which Fetch's client returns redirects
// as responses.
func WithoutRedirects(ctx context.Context) context.Context {
	return context.WithValue(ctx, redirectsKey{}, false)
}

func newFetchTransport(chosen *settings) *http.Transport {
	guard := NewGuard(chosen.fetchAllow)
	ports := append([]uint16{80, 443}, chosen.fetchPorts...)
	transport := newTransport(func(network, address string, conn syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		if err != nil {
			return fmt.Errorf("connect to %q: %w", address, err)
		}
		if !slices.Contains(ports, to.Port()) {
			return &Blocked{Addr: to.Addr(), Never: true}
		}
		return guard.control(network, address, conn)
	}, chosen)
	transport.MaxIdleConns, transport.MaxIdleConnsPerHost = fetchIdleConns, fetchIdleConns/4
	transport.IdleConnTimeout = fetchIdleTimeout
	transport.ResponseHeaderTimeout = fetchHeaderTimeout
	return transport
}

// fetchRedirects is a http.Client's CheckRedirect.
func fetchRedirects(next *http.Request, via []*http.Request) error {
	if next.Context().Value(redirectsKey{}) != nil {
		return http.ErrUseLastResponse
	}
	if len(via) > fetchRedirectLimit {
		return fmt.Errorf("more than %d redirects", fetchRedirectLimit)
	}
	if next.URL.Scheme != "http" && next.URL.Scheme != "https" {
		return errors.New("redirect to an unsupported scheme")
	}
	// After a request has left its origin, its credentials are not sent again.
	left := originOf(next.URL) != originOf(via[0].URL) || slices.ContainsFunc(via, func(r *http.Request) bool {
		return originOf(r.URL) != originOf(via[0].URL)
	})
	if left {
		for _, name := range []string{"Authorization", "Proxy-Authorization", "Cookie", "X-Api-Key"} {
			next.Header.Del(name)
		}
	}
	next.Header.Del("Referer") // its query can contain secrets
	return nil
}
