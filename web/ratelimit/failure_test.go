package ratelimit_test

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"mcpgateway/services/fault"
	"mcpgateway/web"
	"mcpgateway/web/ratelimit"
	"mcpgateway/web/webtest"
)

// gate is a route with a limit of failures behind a trusted proxy.
type gate struct {
	*ratelimit.FailureLimit
	app    *fiber.App
	judged atomic.Int32
}

// newGate returns a gate that accepts the secret "right".
func newGate(t *testing.T, now func() time.Time) *gate {
	t.Helper()
	g := &gate{FailureLimit: ratelimit.NewFailureLimit(now)}
	g.app, _ = webtest.NewApp(t, func(o *web.Options) { o.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("0.0.0.0/32")} })
	g.app.Get("/", func(c *fiber.Ctx) error {
		if err := g.Check(c, ""); err != nil {
			return err
		}
		g.judged.Add(1)
		if c.Get("Secret") == "right" {
			return c.SendString("in")
		}
		if err := g.Failed(c, ""); err != nil {
			return err
		}
		return fault.Unauthorized()
	})
	return g
}

func (g *gate) send(t *testing.T, address, secret string) webtest.Response {
	t.Helper()
	return webtest.Send(t, g.app, webtest.Case{Path: "/", Header: map[string]string{"X-Forwarded-For": address, "Secret": secret, "Accept": "application/json"}})
}

func TestWrongCredentialsBlockAddress(t *testing.T) {
	clock := webtest.NewTicker()
	g := newGate(t, clock.Now)
	expect := func(what, address, secret string, status int, retryAfter string) {
		t.Helper()
		before := g.judged.Load()
		answer := g.send(t, address, secret)
		if answer.Status != status || answer.Header.Get("Retry-After") != retryAfter {
			t.Fatalf("%s: %d, Retry-After %q; want %d, %q", what, answer.Status, answer.Header.Get("Retry-After"), status, retryAfter)
		}
		if judged := g.judged.Load() > before; judged != (status != 429) {
			t.Fatalf("%s: verified = %t", what, judged)
		}
	}
	for n := 1; n <= ratelimit.MaxAuthFailures; n++ {
		expect(fmt.Sprint("before failure ", n), "192.0.2.1", "right", 200, "")
		expect(fmt.Sprint("failure ", n), "192.0.2.1", "wrong", 401, "")
		clock.Advance(time.Second)
	}
	expect("failure 11", "192.0.2.1", "wrong", 429, "50")
	expect("a right secret after it", "192.0.2.1", "right", 429, "50")
	expect("another address", "192.0.2.2", "wrong", 401, "")
	clock.Advance(ratelimit.AuthFailureWindow - ratelimit.MaxAuthFailures*time.Second - time.Millisecond)
	expect("too early", "192.0.2.1", "right", 429, "1")
	clock.Advance(time.Millisecond)
	expect("once the first failure is a minute old", "192.0.2.1", "right", 200, "")
	expect("one more", "192.0.2.1", "wrong", 401, "")
	expect("and no more until the second is", "192.0.2.1", "right", 429, "1")

	for n := range ratelimit.MaxAuthFailures {
		expect(fmt.Sprint("a network ", n), "2001:db8:0:1::"+strconv.FormatInt(int64(n+1), 16), "wrong", 401, "")
	}
	expect("its next address", "2001:db8:0:1:ffff::1", "right", 429, "60")
	expect("its neighbour", "2001:db8:0:2::1", "right", 200, "")
	for n := range ratelimit.MaxAuthFailures {
		expect(fmt.Sprint("loopback ", n), "127.0.0.1", "wrong", 401, "")
	}
	expect("loopback", "127.0.0.1", "right", 429, "60")
}

func TestWrongCredentialsCountBySubject(t *testing.T) {
	clock := webtest.NewTicker()
	limit, other := ratelimit.NewFailureLimit(clock.Now), ratelimit.NewFailureLimit(clock.Now)
	app, _ := webtest.NewApp(t)
	app.Get("/:subject", func(c *fiber.Ctx) error { return limit.Failed(c, c.Params("subject")) })
	app.Get("/check/:subject", func(c *fiber.Ctx) error { return limit.Check(c, c.Params("subject")) })
	app.Get("/other/:subject", func(c *fiber.Ctx) error { return other.Check(c, c.Params("subject")) })
	expect := func(path string, status int) {
		t.Helper()
		if answer := webtest.Send(t, app, webtest.Case{Path: path}); answer.Status != status {
			t.Errorf("%s: %d, want %d", path, answer.Status, status)
		}
	}
	for range ratelimit.MaxAuthFailures {
		expect("/check/a", 200)
		expect("/a", 200)
	}
	expect("/check/a", 429)
	expect("/a", 429)
	expect("/check/b", 200)
	expect("/b", 200)
	expect("/other/a", 200)
}

func TestConcurrentWrongCredentials(t *testing.T) {
	clock := webtest.NewTicker()
	g := newGate(t, clock.Now)
	var wrong, stopped atomic.Int32
	var all sync.WaitGroup
	for range 4 * ratelimit.MaxAuthFailures {
		all.Go(func() {
			switch answer := g.send(t, "192.0.2.1", "wrong"); answer.Status {
			case 401:
				wrong.Add(1)
			case 429:
				stopped.Add(1)
			default:
				t.Errorf("status %d", answer.Status)
			}
		})
	}
	all.Wait()
	if wrong.Load() != ratelimit.MaxAuthFailures || stopped.Load() != 3*ratelimit.MaxAuthFailures {
		t.Errorf("%d wrong, %d rate-limited", wrong.Load(), stopped.Load())
	}
}

func TestFailureLimitMemoryBound(t *testing.T) {
	clock := webtest.NewTicker()
	limit := ratelimit.NewFailureLimit(clock.Now)
	app := fiber.New()
	request := func(address string, do func(c *fiber.Ctx, subject string) error) error {
		var ctx fasthttp.RequestCtx
		ctx.Init(&fasthttp.Request{}, &net.TCPAddr{IP: net.ParseIP(address)}, nil)
		c := app.AcquireCtx(&ctx)
		defer app.ReleaseCtx(c)
		return do(c, "client")
	}
	for n := range ratelimit.MaxAddresses + 1000 {
		address := netip.AddrFrom4([4]byte{10, byte(n >> 16), byte(n >> 8), byte(n)}).String()
		if err := request(address, limit.Failed); err != nil {
			t.Fatalf("address %d: %v", n, err)
		}
	}
	if kept := limit.Kept(); kept > ratelimit.MaxAddresses || kept < ratelimit.MaxAddresses*9/10 {
		t.Errorf("%d addresses are stored", kept)
	}
	for n := range ratelimit.MaxAuthFailures {
		if err := request("192.0.2.1", limit.Failed); err != nil {
			t.Fatalf("failure %d: %v", n, err)
		}
	}
	if err := request("192.0.2.1", limit.Check); !fault.Is(err, fault.CodeRateLimited) {
		t.Errorf("address among many is not blocked: %v", err)
	}
}

func TestFailureLimitCheckAllocatesNothing(t *testing.T) {
	limit := ratelimit.NewFailureLimit(time.Now)
	app := fiber.New()
	c := app.AcquireCtx(new(fasthttp.RequestCtx))
	defer app.ReleaseCtx(c)
	if n := testing.AllocsPerRun(100, func() {
		if err := limit.Check(c, ""); err != nil {
			t.Error(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
