package web_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/web"
)

// aheadApp echoes the bodies of POST /plain, and answers POST /ahead with a
// stream that begins while its handler works: what the body says, and an end.
func aheadApp(t *testing.T) *fiber.App {
	t.Helper()
	app, _ := newApp(t)
	app.Post("/plain", func(c *fiber.Ctx) error { return c.Send(c.Body()) })
	app.Post("/ahead", func(c *fiber.Ctx) error {
		body := string(c.Body())
		s := web.NewStream(c, web.StreamOptions{})
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			s.AnswerAhead(c)
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

func dialTCP(t *testing.T, address string) net.Conn {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	return conn
}

func posting(path, body string) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %d\r\n\r\n%s", path, len(body), body)
}

// next reads the next answer of a connection and returns its body.
func next(in *bufio.Reader) (string, error) {
	resp, err := http.ReadResponse(in, nil)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}

// TestAnswersKeepTheOrderOfRequests sends requests however a client may send
// them, many at once and in pieces: no answer ahead overtakes another one.
func TestAnswersKeepTheOrderOfRequests(t *testing.T) {
	long := strings.Repeat("x", 9_000) // longer than what is read at once
	requests := posting("/plain", "a") + posting("/ahead", "b") + posting("/plain", long) + posting("/ahead", long) +
		posting("/ahead", "c") + posting("/plain", "")
	stream := func(body string) string { return "data: 1 " + body + "\n\ndata: 2 " + body + "\n\n" }
	want := []string{"a", stream("b"), long, stream(long), stream("c"), ""}
	for name, piece := range map[string]int{"at once": len(requests), "in pieces": 7, "byte by byte": 1, "in large pieces": 4_097} {
		t.Run(name, func(t *testing.T) {
			conn := dialTCP(t, serve(t, aheadApp(t)))
			go func() {
				for rest := requests; rest != ""; {
					n := min(piece, len(rest))
					if _, err := io.WriteString(conn, rest[:n]); err != nil {
						return // the reader says it
					}
					rest = rest[n:]
				}
			}()
			in := bufio.NewReader(conn)
			for i, want := range want {
				if got, err := next(in); err != nil || got != want {
					t.Fatalf("answer %d is %.80q (%v), want %.80q", i, got, err, want)
				}
			}
		})
	}
}

func TestAClientCanTellThatAnAnswerAheadBroke(t *testing.T) {
	conn := dialTCP(t, serve(t, aheadApp(t)))
	if _, err := io.WriteString(conn, posting("/ahead", "broken")+posting("/plain", "a")); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(conn)
	if got, err := next(in); err == nil {
		t.Errorf("a broken stream looks complete: %q", got)
	}
	if rest, err := io.ReadAll(in); strings.Contains(string(rest), "HTTP/1.1") {
		t.Errorf("another answer follows the broken one: %q (%v)", rest, err)
	}
}

// TestAnAnswerAheadEndsAConnectionThatIsNotOurs shows that on a listener that is
// not one of Listener the stream is whole, says that the connection ends, and
// that it does: the server could not go on behind an answer that it did not give.
func TestAnAnswerAheadEndsAConnectionThatIsNotOurs(t *testing.T) {
	app := aheadApp(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- app.Listener(listener) }()
	t.Cleanup(func() {
		if err := app.Shutdown(); err != nil {
			t.Error(err)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	conn := dialTCP(t, listener.Addr().String())
	if _, err := io.WriteString(conn, posting("/plain", "a")+posting("/ahead", "b")+posting("/plain", "c")); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(conn)
	if got, err := next(in); err != nil || got != "a" {
		t.Fatalf("the first answer is %q (%v)", got, err)
	}
	resp, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil || string(body) != "data: 1 b\n\ndata: 2 b\n\n" || !resp.Close {
		t.Errorf("the stream is %q (%v), and the connection ends: %v", body, err, resp.Close)
	}
	if rest, _ := io.ReadAll(in); len(rest) > 0 {
		t.Errorf("%q follows", rest)
	}
}

func TestPartsAreOneAnswer(t *testing.T) {
	app, _ := newApp(t)
	long := strings.Repeat("y", 100_000)
	app.Get("/parts", func(c *fiber.Ctx) error { return web.SendParts(c, []byte("x"), nil, []byte(long), []byte("z")) })
	conn := dialTCP(t, serve(t, app))
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
