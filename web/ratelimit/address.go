// Package ratelimit limits clients: the rate of public requests and the number of
// wrong credentials by address, and the number of open streams.
package ratelimit

import (
	"net/netip"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/fault"
	"mcpgateway/web"
	"mcpgateway/web/forwarded"
)

// Memory bounds of a limit.
const (
	maxAddresses  = 1 << 16
	sweepInterval = time.Second
)

// AddressLimit is a token bucket per client address, for public endpoints.
// Programs on this machine that call without a proxy are exempt. An IPv6 /64
// counts as one address, because one customer gets a whole /64. It applies per
// process and stores a limited number of addresses. It is safe for concurrent
// use.
type AddressLimit struct {
	interval time.Duration // time per token
	burst    int
	now      func() time.Time

	mu    sync.Mutex
	full  map[netip.Prefix]time.Time // when the bucket is full again
	swept time.Time
}

// NewAddressLimit returns a limit of perSecond requests per address after a
// burst.
func NewAddressLimit(perSecond, burst int, now func() time.Time) *AddressLimit {
	return &AddressLimit{interval: time.Second / time.Duration(perSecond), burst: burst, now: now, full: map[netip.Prefix]time.Time{}}
}

// Handler rejects requests of an address without tokens with RATE_LIMITED and
// the time until the next token.
func (l *AddressLimit) Handler(c *fiber.Ctx) error {
	if web.IsLocal(c) {
		return c.Next()
	}
	if wait := l.Spend(c); wait > 0 {
		f := fault.New(fault.KindRateLimited, fault.CodeRateLimited, "Too many requests from this address. Retry later.")
		f.RetryAfter = wait
		return f
	}
	return c.Next()
}

// Spend consumes a token for the address of a request and returns 0, or the
// time to wait for one. It exempts no address.
func (l *AddressLimit) Spend(c *fiber.Ctx) time.Duration {
	return l.take(forwarded.ParseAddress(web.ClientIP(c)))
}

// take consumes a token for the address and returns 0, or the time to wait.
func (l *AddressLimit) take(addr netip.Addr) time.Duration {
	key := networkOf(addr)
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	full := l.full[key]
	if full.Before(now) {
		full = now
	}
	full = full.Add(l.interval)
	if wait := full.Sub(now) - time.Duration(l.burst)*l.interval; wait > 0 {
		return wait
	}
	if _, known := l.full[key]; !known && len(l.full) >= maxAddresses {
		l.makeRoom(now)
	}
	l.full[key] = full
	return 0
}

// makeRoom deletes addresses with full buckets, which doesn't affect them. If
// there are none, it deletes an arbitrary one.
func (l *AddressLimit) makeRoom(now time.Time) {
	if now.Sub(l.swept) >= sweepInterval {
		l.swept = now
		for key, full := range l.full {
			if !full.After(now) {
				delete(l.full, key)
			}
		}
	}
	if len(l.full) < maxAddresses {
		return
	}
	for key := range l.full {
		delete(l.full, key)
		return
	}
}

// networkOf returns the network that counts as one client: the address for
// IPv4, the /64 for IPv6.
func networkOf(addr netip.Addr) netip.Prefix {
	bits := 32
	if addr.Is6() {
		bits = 64
	}
	network, _ := addr.Prefix(bits)
	return network
}
