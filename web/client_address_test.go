package web_test

import (
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"mcpgateway/web"
	"mcpgateway/web/ratelimit"
	"mcpgateway/web/webtest"
)

// peer is the remote address of requests that tests make without a connection.
const peer = "0.0.0.0"

// headers are header lines of a request, "Name: value".
type headers []string

func clientOf(t *testing.T, app *fiber.App, lines headers) string {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, "/ip", nil)
	r.Host = "127.0.0.1:8080"
	for _, line := range lines {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Add(name, value)
	}
	resp, err := app.Test(r, -1)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(got)
}

// behindProxies returns a server that trusts its peer, 10.0.0.0/8 and
// 2001:db8:ffff::/48, and serves the client's address at /ip.
func behindProxies(t *testing.T) (*fiber.App, *webtest.Log) {
	t.Helper()
	app, log := webtest.NewApp(t, func(o *web.Options) {
		o.TrustedProxies = []netip.Prefix{netip.MustParsePrefix(peer + "/32"), netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8:ffff::/48")}
	})
	app.Get("/ip", func(c *fiber.Ctx) error { return c.SendString(web.ClientIP(c)) })
	return app, log
}

func TestClientAddressBehindProxies(t *testing.T) {
	app, log := behindProxies(t)
	const list, element = "X-Forwarded-For: ", "Forwarded: "
	for name, tt := range map[string]struct {
		lines headers
		want  string
	}{
		"no header":            {nil, peer},
		"one hop":              {headers{list + "203.0.113.7"}, "203.0.113.7"},
		"one hop, forged left": {headers{list + "198.51.100.1, 203.0.113.7"}, "203.0.113.7"},
		"forged loopback":      {headers{list + "127.0.0.1, 203.0.113.7"}, "203.0.113.7"},
		"two hops":             {headers{list + "198.51.100.1, 203.0.113.7, 10.0.0.2"}, "203.0.113.7"},
		"three hops":           {headers{list + "198.51.100.1, 203.0.113.7, 10.0.0.3, 10.0.0.2"}, "203.0.113.7"},
		"three hops, IPv6":     {headers{list + "::1, 2001:db8::7, 2001:db8:ffff::1, 10.0.0.2"}, "2001:db8::7"},
		"trusted hops only":    {headers{list + "10.0.0.3, 10.0.0.2"}, "10.0.0.3"},
		"two lines":            {headers{list + "198.51.100.1", list + "203.0.113.7, 10.0.0.2"}, "203.0.113.7"},
		"hops in two lines":    {headers{list + "198.51.100.1, 203.0.113.7", list + "10.0.0.2"}, "203.0.113.7"},
		"spaces":               {headers{list + "  198.51.100.1 ,\t203.0.113.7\t ,  10.0.0.2  "}, "203.0.113.7"},
		"no spaces":            {headers{list + "198.51.100.1,203.0.113.7,10.0.0.2"}, "203.0.113.7"},
		"port":                 {headers{list + "203.0.113.7:51234"}, "203.0.113.7"},
		"ports":                {headers{list + "203.0.113.7:51234, 10.0.0.2:80"}, "203.0.113.7"},
		"IPv6":                 {headers{list + "2001:DB8:0::7"}, "2001:db8::7"},
		"IPv6 in brackets":     {headers{list + "[2001:db8::7]"}, "2001:db8::7"},
		"IPv6 with port":       {headers{list + "[2001:db8::7]:51234"}, "2001:db8::7"},
		"IPv6 with zone":       {headers{list + "fe80::7%eth0"}, "fe80::7"},
		"bracketed zone":       {headers{list + "[fe80::7%eth0]:51234"}, "fe80::7"},
		"IPv4 as IPv6":         {headers{list + "::ffff:203.0.113.7"}, "203.0.113.7"},
		"trusted as IPv6":      {headers{list + "203.0.113.7, ::ffff:10.0.0.2"}, "203.0.113.7"},
		"garbage":              {headers{list + "203.0.113.7, garbage"}, peer},
		"garbage after a hop":  {headers{list + "203.0.113.7, garbage, 10.0.0.2"}, "10.0.0.2"},
		"garbage before a hop": {headers{list + "garbage, 203.0.113.7"}, "203.0.113.7"},
		"unknown":              {headers{list + "unknown"}, peer},
		"hidden":               {headers{list + "203.0.113.7, _hidden"}, peer},
		"empty":                {headers{list}, peer},
		"empty node":           {headers{list + "203.0.113.7, "}, peer},
		"open bracket":         {headers{list + "[2001:db8::7"}, peer},
		"text after bracket":   {headers{list + "[2001:db8::7]x"}, peer},
		"IPv4 in brackets":     {headers{list + "[203.0.113.7]"}, peer},
		"no port":              {headers{list + "203.0.113.7:"}, peer},
		"long port":            {headers{list + "203.0.113.7:123456"}, peer},
		"name with port":       {headers{list + "host:80"}, peer},
		"octal":                {headers{list + "203.0.113.007"}, peer},
		"short IPv4":           {headers{list + "203.0.113"}, peer},
		"network":              {headers{list + "203.0.113.0/24"}, peer},

		"forwarded":                {headers{element + "for=203.0.113.7"}, "203.0.113.7"},
		"forwarded, forged left":   {headers{element + "for=198.51.100.1, for=203.0.113.7"}, "203.0.113.7"},
		"forwarded, two hops":      {headers{element + "for=198.51.100.1,for=203.0.113.7;proto=https , For=10.0.0.2"}, "203.0.113.7"},
		"forwarded, three hops":    {headers{element + `for=198.51.100.1, for="[2001:db8::7]:4711";by=10.0.0.9, for="[2001:db8:ffff::1]", proto=http;FOR=10.0.0.2;by=_x`}, "2001:db8::7"},
		"forwarded, two lines":     {headers{element + "for=198.51.100.1", element + "for=203.0.113.7, for=10.0.0.2"}, "203.0.113.7"},
		"forwarded, port":          {headers{element + `for="203.0.113.7:4711"`}, "203.0.113.7"},
		"forwarded, hidden port":   {headers{element + `for="203.0.113.7:_port"`}, "203.0.113.7"},
		"forwarded, escaped":       {headers{element + `for="203.0.113\.7"`}, "203.0.113.7"},
		"forwarded, empty pairs":   {headers{element + ";;for=203.0.113.7;;"}, "203.0.113.7"},
		"forwarded, unknown":       {headers{element + "for=203.0.113.7, for=unknown"}, peer},
		"forwarded, hidden":        {headers{element + `for=203.0.113.7, for="_hidden"`}, peer},
		"forwarded, without for":   {headers{element + "for=203.0.113.7, by=10.0.0.2"}, peer},
		"forwarded, twice for":     {headers{element + "for=203.0.113.7;for=198.51.100.1"}, peer},
		"forwarded, empty":         {headers{element}, peer},
		"forwarded, empty for":     {headers{element + "for="}, peer},
		"forwarded, bare":          {headers{element + "203.0.113.7"}, peer},
		"forwarded, unquoted IPv6": {headers{element + "for=[2001:db8::7]"}, peer},
		"forwarded, bad text":      {headers{element + "for=203.0.113.7 x"}, peer},
		"forwarded, open quote":    {headers{element + `for="203.0.113.7`}, peer},
		"forwarded, open escape":   {headers{element + `for="203.0.113.7\`}, peer},
		"forwarded, forged quote":  {headers{element + `for=198.51.100.1;x=", for="[2001:db8::7]:4711"`}, peer},
		"forwarded, quoted comma":  {headers{element + `host="a, for=198.51.100.1";for=203.0.113.7`}, "203.0.113.7"},
		"forwarded, garbage left":  {headers{element + `"`, element + "for=203.0.113.7"}, "203.0.113.7"},
		"forwarded, garbage right": {headers{element + "for=203.0.113.7", element + `"`}, peer},

		"both, alike":            {headers{list + "198.51.100.1, 203.0.113.7", element + "for=203.0.113.7"}, "203.0.113.7"},
		"both, list forged":      {headers{list + "198.51.100.1", element + "for=203.0.113.7"}, peer},
		"both, forwarded forged": {headers{element + "for=198.51.100.1", list + "203.0.113.7"}, peer},
		"both, one unusable":     {headers{element + "for=unknown", list + "203.0.113.7"}, peer},
	} {
		if got := clientOf(t, app, tt.lines); got != tt.want {
			t.Errorf("%s: ClientIP(%q) = %s, want %s", name, tt.lines, got, tt.want)
		}
	}
	clientOf(t, app, headers{list + "198.51.100.1, 203.0.113.7"})
	if last := log.String()[strings.LastIndex(log.String(), `{"time"`):]; !strings.Contains(last, `"ip":"203.0.113.7"`) {
		t.Errorf("logged %s", last)
	}
}

func TestUntrustedPeerIsClient(t *testing.T) {
	for name, trusted := range map[string][]netip.Prefix{"none": nil, "another": {netip.MustParsePrefix("10.0.0.0/8")}} {
		app, _ := webtest.NewApp(t, func(o *web.Options) { o.TrustedProxies = trusted })
		app.Get("/ip", func(c *fiber.Ctx) error { return c.SendString(web.ClientIP(c)) })
		for _, lines := range []headers{{"X-Forwarded-For: 203.0.113.7"}, {"Forwarded: for=203.0.113.7"}, {"X-Forwarded-For: 10.0.0.1, 203.0.113.7, 10.0.0.2"}, {"X-Real-Ip: 203.0.113.7"}} {
			if got := clientOf(t, app, lines); got != peer {
				t.Errorf("%s: ClientIP(%q) = %s", name, lines, got)
			}
		}
	}
}

// TestOnlyLocalClientsAreExempt sends requests on a TCP connection from
// loopback.
func TestOnlyLocalClientsAreExempt(t *testing.T) {
	const burst = 3
	for name, tt := range map[string]struct {
		trusted string
		header  string
		exempt  bool
	}{
		"local client":                        {"", "", true},
		"local proxy that is not trusted":     {"", "X-Forwarded-For: 127.0.0.1", false},
		"proxy with Forwarded":                {"", "Forwarded: for=127.0.0.1", false},
		"proxy with Via":                      {"", "Via: 1.1 proxy", false},
		"proxy with X-Real-IP":                {"", "X-Real-IP: 127.0.0.1", false},
		"trusted proxy":                       {"127.0.0.0/8", "", false},
		"loopback in a trusted proxy's list":  {"127.0.0.0/8", "X-Forwarded-For: 127.0.0.1", false},
		"loopback without a proxy":            {"127.0.0.1/32", "X-Forwarded-For: 127.0.0.9", false},
		"loopback in a trusted one's element": {"127.0.0.0/8", `Forwarded: for="[::1]"`, false},
		"another client":                      {"127.0.0.0/8", "X-Forwarded-For: 203.0.113.7", false},
	} {
		t.Run(name, func(t *testing.T) {
			app, _ := webtest.NewApp(t, func(o *web.Options) {
				if tt.trusted != "" {
					o.TrustedProxies = []netip.Prefix{netip.MustParsePrefix(tt.trusted)}
				}
			})
			clock := webtest.NewTicker()
			app.Get("/", ratelimit.NewAddressLimit(1, burst, clock.Now).Handler, func(c *fiber.Ctx) error { return c.SendString("ok") })
			base := "http://" + webtest.Serve(t, app) + "/"
			ask := func() int {
				r, err := http.NewRequest(http.MethodGet, base, nil)
				if err != nil {
					t.Fatal(err)
				}
				if key, value, found := strings.Cut(tt.header, ": "); found {
					r.Header.Set(key, value)
				}
				r.Close = true
				resp, err := http.DefaultClient.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				return resp.StatusCode
			}
			for n := range burst {
				if status := ask(); status != http.StatusOK {
					t.Fatalf("request %d: %d", n+1, status)
				}
			}
			if status := ask(); (status == http.StatusOK) != tt.exempt {
				t.Errorf("after the burst: status %d", status)
			}
		})
	}
}

func FuzzClientAddress(f *testing.F) {
	f.Add("203.0.113.7, 10.0.0.2", `for="[2001:db8::7]:4711";proto=https, for=10.0.0.2`)
	f.Add("unknown,,[::1%eth0]:80", `for="\"`)
	app := web.New(web.Options{
		Names: web.NewNames(&url.URL{Scheme: "http", Host: "127.0.0.1"}, nil, nil, true), ErrorPage: webtest.Page, Log: slog.New(slog.DiscardHandler),
		TrustedProxies: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")},
	})
	app.Get("/ip", func(c *fiber.Ctx) error { return c.SendString(web.ClientIP(c)) })
	handler := app.Handler()
	answer := func(name string, lines ...string) string {
		var ctx fasthttp.RequestCtx
		ctx.Init(&fasthttp.Request{}, nil, nil)
		ctx.Request.SetRequestURI("/ip")
		ctx.Request.SetHost("127.0.0.1")
		for _, line := range lines {
			ctx.Request.Header.Add(name, line)
		}
		handler(&ctx)
		return string(ctx.Response.Body())
	}
	f.Fuzz(func(t *testing.T, list, forwarded string) {
		for name, lines := range map[string][2]string{"list": {"X-Forwarded-For", list}, "forwarded": {"Forwarded", forwarded}} {
			// The line of the trusted proxy decides, regardless of the lines
			// before it.
			const client = "2001:db8::7"
			appended := client
			if name == "forwarded" {
				appended = `for="[` + client + `]"`
			}
			if got := answer(lines[0], lines[1], appended); got != client {
				t.Errorf("%s %q: %s", name, lines[1], got)
			}
			if got := answer(lines[0], lines[1]); net.ParseIP(got) == nil {
				t.Errorf("%s %q: %q is not an address", name, lines[1], got)
			}
		}
	})
}
