// Package ratelimit limits clients by their address: requests that anybody may
// send, and wrong credentials.
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

// Bounds of what a limit remembers.
const (
	maxAddresses  = 1 << 16
	sweepInterval = time.Second
)

// AddressLimit is a token bucket for every client address, for what anybody
// may ask. Programs on this machine that call without a proxy are exempt; of
// IPv6 a whole /64 counts as one address, because that is what one customer
// gets. It holds per process and remembers a bounded number of addresses. It is
// safe for concurrent use.
type AddressLimit struct {
	interval time.Duration // in which a token comes back
	burst    int
	now      func() time.Time

	mu    sync.Mutex
	full  map[netip.Prefix]time.Time // when the bucket is full again
	swept time.Time
}

// NewAddressLimit returns a limit of so many requests per second and address,
// after a burst.
func NewAddressLimit(perSecond, burst int, now func() time.Time) *AddressLimit {
	return &AddressLimit{interval: time.Second / time.Duration(perSecond), burst: burst, now: now, full: map[netip.Prefix]time.Time{}}
}

// Handler refuses requests of an address that has none left with RATE_LIMITED
// and the time after which there is one again.
func (l *AddressLimit) Handler(c *fiber.Ctx) error {
	if web.IsLocal(c) {
		return c.Next()
	}
	if wait := l.Spend(c); wait > 0 {
		f := fault.New(fault.KindRateLimited, fault.CodeRateLimited, "too many requests from this address; wait before the next one")
		f.RetryAfter = wait
		return f
	}
	return c.Next()
}

// Spend takes a token of the address of a request and returns 0, or the time to
// wait for one. It exempts no address.
func (l *AddressLimit) Spend(c *fiber.Ctx) time.Duration {
	return l.take(forwarded.ParseAddress(web.ClientIP(c)))
}

// take takes a token of the address and returns 0, or returns how long to wait.
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

// makeRoom forgets the addresses whose buckets are full, which changes nothing
// for them, and if there is none, any one.
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

// networkOf returns what counts as one client: of IPv6 the /64, which is what
// one customer gets.
func networkOf(addr netip.Addr) netip.Prefix {
	bits := 32
	if addr.Is6() {
		bits = 64
	}
	network, _ := addr.Prefix(bits)
	return network
}
