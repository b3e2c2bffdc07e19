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

// Limits of requests that submitted code sends.
const (
	fetchRedirectLimit = 5
	fetchIdleConns     = 32
	fetchHeaderTimeout = 10 * time.Second
	fetchIdleTimeout   = 10 * time.Second
)

// Fetch returns the client for requests of submitted code. It reaches public
// addresses on the ports 80 and 443 only, whatever upstream servers may
// reach; keeps no cookies; and follows at most five redirects, each judged as
// the first address was. Credentials in headers go to the first origin only.
// A refused address or port is an error that errors.As finds as *Blocked. It
// has no time-out but the request's context.
func (c *Clients) Fetch() *http.Client { return c.fetch }

type redirectsKey struct{}

// WithoutRedirects returns a context whose requests by Fetch's client get a
// redirect as the response that it is.
func WithoutRedirects(ctx context.Context) context.Context {
	return context.WithValue(ctx, redirectsKey{}, false)
}

func newFetchTransport(chosen *settings) *http.Transport {
	guard := NewGuard(chosen.fetchAllow)
	ports := append([]uint16{80, 443}, chosen.fetchPorts...)
	transport := newTransport(func(network, address string, conn syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		if err != nil {
			return fmt.Errorf("refuse to connect to %q: %w", address, err)
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
		return errors.New("a redirect to something else than http and https")
	}
	// Once a request left its origin, its credentials do not come back.
	left := originOf(next.URL) != originOf(via[0].URL) || slices.ContainsFunc(via, func(r *http.Request) bool {
		return originOf(r.URL) != originOf(via[0].URL)
	})
	if left {
		for _, name := range []string{"Authorization", "Proxy-Authorization", "Cookie", "X-Api-Key"} {
			next.Header.Del(name)
		}
	}
	next.Header.Del("Referer") // its query may hold secrets
	return nil
}
