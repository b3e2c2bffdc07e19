package conn_test

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/web"
	"mcpgateway/web/sse"
	"mcpgateway/web/webtest"
)

// newEarlyApp echoes the bodies of POST /plain. It responds to POST /ahead with a
// stream that starts while the handler runs: the body and an end event.
func newEarlyApp(t *testing.T) *fiber.App {
	t.Helper()
	app, _ := webtest.NewApp(t)
	app.Post("/plain", func(c *fiber.Ctx) error { return c.Send(c.Body()) })
	app.Post("/ahead", func(c *fiber.Ctx) error {
		body := string(c.Body())
		s := sse.NewStream(c, sse.StreamOptions{})
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			s.ServeEarly(c)
			s.Send("", []byte("1 "+body))
		}()
		<-sent
		if body == "broken" {
			s.Break()
		}
		s.EndWith("", []byte("2 "+body))
		s.Wait(c)
		return nil
	})
	return app
}

// next reads the next response of a connection and returns its body.
func next(in *bufio.Reader) (string, error) {
	resp, err := http.ReadResponse(in, nil)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}

// TestResponseOrder sends pipelined requests at once and in pieces. An early
// stream doesn't overtake earlier responses.
func TestResponseOrder(t *testing.T) {
	long := strings.Repeat("x", 9_000) // longer than one read
	requests := webtest.Posting("/plain", "a") + webtest.Posting("/plain", "") + webtest.Posting("/plain", long) + webtest.Posting("/plain", "b") + webtest.Posting("/ahead", long)
	want := []string{"a", "", long, "b", "data: 1 " + long + "\n\ndata: 2 " + long + "\n\n"}
	for name, piece := range map[string]int{"at once": len(requests), "in pieces": 7, "byte by byte": 1, "in large pieces": 4_097} {
		t.Run(name, func(t *testing.T) {
			conn := webtest.DialTCP(t, webtest.Serve(t, newEarlyApp(t)))
			go func() {
				for rest := requests; rest != ""; {
					n := min(piece, len(rest))
					if _, err := io.WriteString(conn, rest[:n]); err != nil {
						return // the reader reports it
					}
					rest = rest[n:]
				}
			}()
			in := bufio.NewReader(conn)
			for i, want := range want {
				if got, err := next(in); err != nil || got != want {
					t.Fatalf("response %d = %.80q, %v; want %.80q", i, got, err, want)
				}
			}
		})
	}
}

func TestBrokenEarlyStreamIsDetectable(t *testing.T) {
	conn := webtest.DialTCP(t, webtest.Serve(t, newEarlyApp(t)))
	if _, err := io.WriteString(conn, webtest.Posting("/ahead", "broken")+webtest.Posting("/plain", "a")); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(conn)
	if got, err := next(in); err == nil {
		t.Errorf("broken stream appears complete: %q", got)
	}
	if rest, err := io.ReadAll(in); strings.Contains(string(rest), "HTTP/1.1") {
		t.Errorf("data after the broken response: %q, %v", rest, err)
	}
}

// TestEarlyStreamEndsConnection checks that such a stream is complete, and that
// its headers announce the end of the connection.
func TestEarlyStreamEndsConnection(t *testing.T) {
	conn := webtest.DialTCP(t, webtest.Serve(t, newEarlyApp(t)))
	if _, err := io.WriteString(conn, webtest.Posting("/plain", "a")+webtest.Posting("/ahead", "b")+webtest.Posting("/plain", "c")); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(conn)
	if got, err := next(in); err != nil || got != "a" {
		t.Fatalf("first response = %q, %v", got, err)
	}
	resp, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil || string(body) != "data: 1 b\n\ndata: 2 b\n\n" || !resp.Close {
		t.Errorf("stream = %q, %v; Close = %v", body, err, resp.Close)
	}
	if rest, _ := io.ReadAll(in); len(rest) > 0 {
		t.Errorf("data after the stream: %q", rest)
	}
}

func TestPartsFormOneResponse(t *testing.T) {
	app, _ := webtest.NewApp(t)
	long := strings.Repeat("y", 100_000)
	app.Get("/parts", func(c *fiber.Ctx) error {
		return web.SendPartsThen(c, nil, []byte("x"), nil, []byte(long), []byte("z"))
	})
	conn := webtest.DialTCP(t, webtest.Serve(t, app))
	if _, err := io.WriteString(conn, strings.Repeat("GET /parts HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 2)); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(conn)
	for range 2 {
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil || string(body) != "x"+long+"z" || resp.ContentLength != int64(len(long)+2) {
			t.Errorf("%d bytes of %d (%v)", len(body), resp.ContentLength, err)
		}
	}
}
