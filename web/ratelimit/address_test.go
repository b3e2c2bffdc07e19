package ratelimit_test

import (
	"fmt"
	"net/netip"
	"strconv"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/web"
	"mcpgateway/web/ratelimit"
	"mcpgateway/web/webtest"
)

// limited returns a function that sends a request from an address to a
// rate-limited route.
func limited(t *testing.T, limit *ratelimit.AddressLimit) func(address string) webtest.Response {
	t.Helper()
	app, _ := webtest.NewApp(t, func(o *web.Options) { o.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("0.0.0.0/32")} })
	app.Get("/", limit.Handler, func(c *fiber.Ctx) error { return c.SendString("ok") })
	return func(address string) webtest.Response {
		return webtest.Send(t, app, webtest.Case{Path: "/", Header: map[string]string{"X-Forwarded-For": address, "Accept": "application/json"}})
	}
}

func TestAddressLimit(t *testing.T) {
	clock := webtest.NewTicker()
	limit := ratelimit.NewAddressLimit(20, 100, clock.Now)
	ask := limited(t, limit)
	expect := func(what, address string, status int) webtest.Response {
		t.Helper()
		answer := ask(address)
		if answer.Status != status {
			t.Fatalf("%s: %d, want %d; %s", what, answer.Status, status, answer.Body)
		}
		return answer
	}
	for n := range 100 {
		expect(fmt.Sprint("request ", n), "192.0.2.1", 200)
	}
	refused := expect("request 101", "192.0.2.1", 429)
	if refused.Header.Get("Retry-After") != "1" || refused.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("headers %v", refused.Header)
	}
	expect("another address", "192.0.2.2", 200)
	if wait := limit.Take("::ffff:192.0.2.1"); wait != 50*time.Millisecond {
		t.Errorf("mapped address waits %s", wait)
	}
	clock.Advance(49 * time.Millisecond)
	expect("too early", "192.0.2.1", 429)
	clock.Advance(time.Millisecond)
	expect("one token later", "192.0.2.1", 200)
	expect("and no more", "192.0.2.1", 429)
	for n := range 100 {
		expect(fmt.Sprint("loopback in a header ", n), "127.0.0.1", 200)
	}
	expect("loopback in a header", "127.0.0.1", 429)
	for n := range 100 {
		expect(fmt.Sprint("a network ", n), "2001:db8:0:1::"+strconv.FormatInt(int64(n+1), 16), 200)
	}
	expect("its next address", "2001:db8:0:1:ffff::1", 429)
	expect("its neighbour", "2001:db8:0:2::1", 200)
	clock.Advance(5 * time.Second)
	for n := range 100 {
		expect(fmt.Sprint("after a pause, request ", n), "192.0.2.1", 200)
	}
	expect("after a pause, request 101", "192.0.2.1", 429)
}

func TestAddressLimitMemoryBound(t *testing.T) {
	clock := webtest.NewTicker()
	limit := ratelimit.NewAddressLimit(1, 1, clock.Now)
	address := func(n int) string { return netip.AddrFrom4([4]byte{10, byte(n >> 16), byte(n >> 8), byte(n)}).String() }
	for n := range ratelimit.MaxAddresses + 1000 {
		if wait := limit.Take(address(n)); wait != 0 {
			t.Fatalf("address %d waits %s", n, wait)
		}
		if kept := limit.Kept(); kept > ratelimit.MaxAddresses {
			t.Fatalf("%d addresses are stored", kept)
		}
	}
	clock.Advance(time.Minute)
	if limit.Take("192.0.2.1"); limit.Kept() != 1 {
		t.Errorf("%d addresses are stored when all buckets are full", limit.Kept())
	}
}
