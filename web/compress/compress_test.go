package compress_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/gofiber/fiber/v2"
	"github.com/klauspost/compress/zstd"

	"mcpgateway/web"
	"mcpgateway/web/compress"
	"mcpgateway/web/sse"
	"mcpgateway/web/webtest"
)

// newCompressingApp returns a server that compresses the responses of the handlers.
func newCompressingApp(t *testing.T, handlers map[string]fiber.Handler) *fiber.App {
	t.Helper()
	app, _ := webtest.NewApp(t)
	compressor := compress.New()
	for path, handler := range handlers {
		app.Get(path, compressor.Handler, handler)
	}
	return app
}

// text returns a handler that responds with n bytes of text.
func text(n int) fiber.Handler {
	return func(c *fiber.Ctx) error { return c.SendString(strings.Repeat("x", n)) }
}

// decode returns the decompressed body of a response.
func decode(t *testing.T, a webtest.Response) string {
	t.Helper()
	var from io.Reader = strings.NewReader(a.Body)
	var err error
	switch a.Header.Get("Content-Encoding") {
	case "":
	case "br":
		from = brotli.NewReader(from)
	case "gzip":
		from, err = gzip.NewReader(from)
	case "zstd":
		var r *zstd.Decoder
		r, err = zstd.NewReader(from, zstd.WithDecoderMaxWindow(8<<20))
		t.Cleanup(r.Close)
		from = r
	default:
		t.Fatalf("Content-Encoding = %q", a.Header.Get("Content-Encoding"))
	}
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(from)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func TestEncodingNegotiation(t *testing.T) {
	app := newCompressingApp(t, map[string]fiber.Handler{"/": text(2000)})
	for _, tc := range []struct{ accept, want string }{
		{"", ""}, {"identity", ""}, {"deflate", ""}, {"identity;q=0", ""}, {"gzip", "gzip"}, {"x-gzip", "gzip"}, {"GZip", "gzip"}, {"br", "br"}, {"zstd", "zstd"},
		{"gzip, deflate, br, zstd", "zstd"}, {"gzip, deflate, br", "br"}, {"br;q=0.5, gzip", "gzip"}, {"gzip;q=0.5, br;q=0.8, zstd;q=0.2", "br"},
		{"zstd;q=0, br;q=0.0, gzip;q=0.001", "gzip"}, {"gzip;q=0", ""}, {"gzip;q=0.000", ""}, {"gzip;q=1.000", "gzip"}, {"gzip ; q=0.5", "gzip"}, {"gzip;Q=0.5", "gzip"},
		{"*", "zstd"}, {"*;q=0", ""}, {"gzip, *;q=0", "gzip"}, {"zstd;q=0, *", "br"}, {"gzip;q=0.5, *;q=0.1", "gzip"},
		{"identity, gzip;q=0.5", ""}, {"identity;q=0.5, gzip", "gzip"}, {"identity;q=0.5, gzip;q=0.5", "gzip"},
		{"gzip;q=0, gzip", ""}, {"gzip;q=1.001", ""}, {"gzip;q=2", ""}, {"gzip;q=-1", ""}, {"gzip;q=", ""}, {"gzip;q=NaN", ""}, {"gzip;q=1e-1", ""}, {"gzip;q=0.0001", ""}, {"gzip;level=1", ""}, {",,;", ""},
	} {
		t.Run(tc.accept, func(t *testing.T) {
			answer := webtest.Send(t, app, webtest.Case{Path: "/", Header: map[string]string{"Accept-Encoding": tc.accept}})
			webtest.Check(t, webtest.Case{Status: 200, WantHeader: map[string]string{
				"Content-Encoding": tc.want, "Vary": "Accept-Encoding", "Content-Length": strconv.Itoa(len(answer.Body)),
			}}, answer)
			if decode(t, answer) != strings.Repeat("x", 2000) || (len(answer.Body) < 2000) != (tc.want != "") {
				t.Errorf("%d bytes, decoded as %q", len(answer.Body), decode(t, answer))
			}
		})
	}
}

func TestETagWithEncodings(t *testing.T) {
	tag := web.ETag("x")
	tagged := func(n int) fiber.Handler {
		return func(c *fiber.Ctx) error {
			if web.Unchanged(c, tag, "public, max-age=60") {
				return nil
			}
			return text(n)(c)
		}
	}
	app := newCompressingApp(t, map[string]fiber.Handler{"/long": tagged(2000), "/short": tagged(10)})
	for _, path := range []string{"/long", "/short"} {
		for encoding, want := range map[string]string{"": tag, "gzip;q=0": tag, "gzip": "W/" + tag, "br": "W/" + tag, "zstd": "W/" + tag} {
			for _, known := range []string{"", tag, "W/" + tag, `"another"`} {
				status := 200
				if strings.HasSuffix(known, tag) && known != "" {
					status = 304
				}
				answer := webtest.Send(t, app, webtest.Case{Path: path, Header: map[string]string{"Accept-Encoding": encoding, "If-None-Match": known}})
				webtest.Check(t, webtest.Case{Status: status, WantHeader: map[string]string{"ETag": want, "Vary": "Accept-Encoding", "Cache-Control": "public, max-age=60"}}, answer)
				if status == 304 && (answer.Body != "" || answer.Header.Get("Content-Encoding") != "") {
					t.Errorf("%s %s: body %q", path, encoding, answer.Body)
				}
			}
		}
	}
}

func TestSmallBodyNotCompressed(t *testing.T) {
	app := newCompressingApp(t, map[string]fiber.Handler{"/1023": text(1023), "/1024": text(1024), "/1025": text(1025)})
	for path, want := range map[string]string{"/1023": "", "/1024": "gzip", "/1025": "gzip"} {
		answer := webtest.Send(t, app, webtest.Case{Path: path, Header: map[string]string{"Accept-Encoding": "gzip"}})
		webtest.Check(t, webtest.Case{Status: 200, WantHeader: map[string]string{"Content-Encoding": want, "Vary": "Accept-Encoding"}}, answer)
	}
}

func TestUncompressedResponses(t *testing.T) {
	with := func(header, value string) fiber.Handler {
		return func(c *fiber.Ctx) error {
			c.Set(header, value)
			return c.SendString(strings.Repeat("x", 2000))
		}
	}
	handlers := map[string]fiber.Handler{
		"/encoded": with("Content-Encoding", "br"), "/range": with("Content-Range", "bytes 0-1999/3000"), "/no-transform": with("Cache-Control", "public, no-transform"),
		"/png": with("Content-Type", "image/png"), "/woff2": with("Content-Type", "font/woff2"), "/binary": with("Content-Type", "application/octet-stream"), "/events": with("Content-Type", "text/event-stream; charset=utf-8"),
		"/partial": func(c *fiber.Ctx) error { return text(2000)(c.Status(206)) },
		"/secret": func(c *fiber.Ctx) error {
			compress.Never(c)
			return text(2000)(c)
		},
		"/parts": func(c *fiber.Ctx) error { return web.SendPartsThen(c, nil, bytes.Repeat([]byte("x"), 2000)) },
		"/stream": func(c *fiber.Ctx) error {
			s := sse.NewStream(c, sse.StreamOptions{})
			s.Send("", []byte(strings.Repeat("x", 2000)))
			s.End()
			return s.Respond(c)
		},
	}
	app := newCompressingApp(t, handlers)
	for path := range handlers {
		t.Run(path, func(t *testing.T) {
			plain := webtest.Send(t, app, webtest.Case{Path: path})
			answer := webtest.Send(t, app, webtest.Case{Path: path, Header: map[string]string{"Accept-Encoding": "zstd, br, gzip"}})
			webtest.Check(t, webtest.Case{Status: plain.Status, WantHeader: map[string]string{"Content-Encoding": plain.Header.Get("Content-Encoding"), "Vary": ""}}, answer)
			if answer.Body != plain.Body || !strings.Contains(answer.Body, strings.Repeat("x", 2000)) {
				t.Errorf("body %q", answer.Body)
			}
		})
	}
}

func TestTextCompressed(t *testing.T) {
	for _, mediaType := range []string{
		"text/html; charset=utf-8", "text/css", "text/javascript; charset=utf-8", "application/javascript", "application/json", "APPLICATION/JSON", "application/xml", "application/atom+xml", "application/ld+json", "image/svg+xml",
	} {
		app := newCompressingApp(t, map[string]fiber.Handler{"/": func(c *fiber.Ctx) error {
			c.Set("Content-Type", mediaType)
			return c.SendString(strings.Repeat("x", 2000))
		}})
		webtest.Check(t, webtest.Case{WantHeader: map[string]string{"Content-Encoding": "br", "Content-Type": mediaType}},
			webtest.Send(t, app, webtest.Case{Path: "/", Header: map[string]string{"Accept-Encoding": "br"}}))
	}
}

func TestHeadNotCompressed(t *testing.T) {
	app, _ := webtest.NewApp(t)
	app.Head("/", compress.New().Handler, text(2000))
	answer := webtest.Send(t, app, webtest.Case{Method: "HEAD", Path: "/", Header: map[string]string{"Accept-Encoding": "gzip"}})
	webtest.Check(t, webtest.Case{Status: 200, WantHeader: map[string]string{"Content-Encoding": "", "Content-Length": "2000", "Vary": "Accept-Encoding"}}, answer)
}

func TestOnceCachesCompressedBody(t *testing.T) {
	var calls atomic.Int32
	app := newCompressingApp(t, map[string]fiber.Handler{"/:key": func(c *fiber.Ctx) error {
		compress.Once(c, c.Params("key"))
		return c.SendString(strings.Repeat("x", 2000) + strconv.Itoa(int(calls.Add(1)))) // differs between calls, to detect cached bodies
	}})
	for call, tc := range []struct{ key, encoding, end string }{
		{"a", "br", "1"}, {"a", "br", "1"}, {"a", "gzip", "3"}, {"a", "zstd", "4"}, {"a", "gzip", "3"}, {"a", "zstd", "4"}, {"b", "br", "7"}, {"a", "br", "1"}, {"a", "", "9"},
		{"a", "gzip, br, zstd", "1"}, // the smallest
	} {
		answer := webtest.Send(t, app, webtest.Case{Path: "/" + tc.key, Header: map[string]string{"Accept-Encoding": tc.encoding}})
		if got := strings.TrimLeft(decode(t, answer), "x"); got != tc.end || !strings.Contains(tc.encoding, answer.Header.Get("Content-Encoding")) || (tc.encoding == "") != (answer.Header.Get("Content-Encoding") == "") {
			t.Errorf("call %d: %s in %s ends in %q, want %q", call+1, tc.key, tc.encoding, got, tc.end)
		}
	}
}

func TestErrorsNotCompressed(t *testing.T) {
	app := newCompressingApp(t, map[string]fiber.Handler{"/": func(*fiber.Ctx) error { return fiber.NewError(415, strings.Repeat("x", 2000)) }})
	webtest.Check(t, webtest.Case{Status: 415, WantHeader: map[string]string{"Content-Encoding": ""}},
		webtest.Send(t, app, webtest.Case{Path: "/", Header: map[string]string{"Accept-Encoding": "gzip"}}))
}
