package egress_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"mcpgateway/services/egress"
	"mcpgateway/services/lazyctx"
)

// fields are the lines of headers, by name.
type fields map[string]string

// Append is of egress.Fields.
func (f fields) Append(b []byte) ([]byte, bool) {
	ok := true
	for name, value := range f {
		if b, ok = egress.AppendField(b, name, value); !ok {
			break
		}
	}
	return b, ok
}

func poster(t *testing.T, c *egress.Clients, address string) *egress.Poster {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	p := egress.NewPoster(c.MCP(), u)
	if p == nil {
		t.Fatalf("%s has no poster", address)
	}
	return p
}

// posted is send for POSTs, through a poster.
func posted(ctx context.Context, t *testing.T, c *egress.Clients, address, body string, repeatable bool) (int, string, error) {
	t.Helper()
	answer, resp, err := poster(t, c, address).Post(ctx, fields{"Content-Type": "application/json"}, []byte(body), repeatable, "application/json", 64<<10)
	switch {
	case err != nil:
		return 0, "", err
	case answer != nil:
		return http.StatusOK, string(answer), nil
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text), err
}

// TestPostsArriveAsTheyAre sends bodies that the system takes at once, and some
// that it does not, and reads answers around what the caller wants as a whole.
func TestPostsArriveAsTheyAre(t *testing.T) {
	s := newScripted(t, func(_ int64, c net.Conn, in *bufio.Reader) {
		for {
			r, body := read(in)
			if r == nil {
				return
			}
			text := fmt.Sprintf("%s %s %s %s %s", r.Method, r.RequestURI, r.Host, r.Header.Get("X-Own"), body)
			_, _ = fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(text), text)
		}
	})
	c := local(t)
	host := strings.TrimSuffix(strings.TrimPrefix(s.url, "http://"), "/mcp?a=b%20c")
	head := "POST /mcp?a=b%20c " + host + " own "
	for _, max := range []int{0, 1 << 10, 1 << 20, 32 << 20} {
		for _, size := range []int{0, 1, 4 << 10, 100 << 10, 8 << 20} {
			body := strings.Repeat("x", size)
			answer, resp, err := poster(t, c, s.url).Post(t.Context(), fields{"X-Own": "own"}, []byte(body), false, "application/json", max)
			if err != nil {
				t.Fatalf("%d bytes: %v", size, err)
			}
			if whole := len(head)+size <= max; whole != (resp == nil) {
				t.Errorf("%d bytes of at most %d: the answer came as a whole is %t", size, max, resp == nil)
			}
			if resp != nil {
				if answer, err = io.ReadAll(resp.Body); err != nil {
					t.Fatal(err)
				}
				_ = resp.Body.Close()
			}
			if string(answer) != head+body {
				t.Errorf("%d bytes: %d bytes came back, which begin with %.80q", size, len(answer), answer)
			}
		}
	}
	if n := s.conns.Load(); n != 1 {
		t.Errorf("%d connections", n)
	}
}

func TestFieldsThatCannotBeSent(t *testing.T) {
	s := newScripted(t, answering(plainAnswer))
	for name, f := range map[string]fields{
		"a line feed":  {"X": "a\nb"},
		"no name":      {"": "a"},
		"a space":      {"X Y": "a"},
		"another host": {"Host": "a"},
		"a length":     {"content-length": "1"},
		"chunks":       {"Transfer-Encoding": "chunked"},
	} {
		if _, _, err := poster(t, local(t), s.url).Post(t.Context(), f, nil, false, "application/json", 1); !errors.Is(err, egress.ErrFields) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := s.conns.Load(); n != 0 {
		t.Errorf("%d connections", n)
	}
	for _, address := range []string{"https://a.example/mcp", "http://user:word@a.example/mcp"} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if egress.NewPoster(local(t).MCP(), u) != nil {
			t.Errorf("%s has a poster", address)
		}
	}
	u, _ := url.Parse(s.url)
	if egress.NewPoster(http.DefaultClient, u) != nil {
		t.Error("a foreign client has a poster")
	}
}

// TestDeadlinesOfEarlierRequestsDoNotCount sends requests over one kept
// connection, whose deadlines pass while later requests wait for their answers,
// and while it is idle. Each has the time that is its own.
func TestDeadlinesOfEarlierRequestsDoNotCount(t *testing.T) {
	answers := make(chan string)
	s := newScripted(t, func(_ int64, c net.Conn, in *bufio.Reader) {
		for {
			if r, _ := read(in); r == nil {
				return
			}
			if _, err := io.WriteString(c, <-answers); err != nil {
				return
			}
		}
	})
	c := local(t)
	limited := func(limit time.Duration) context.Context {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		t.Cleanup(cancel)
		return ctx
	}
	for name, send := range map[string]func(context.Context) (string, error){
		"posted": func(ctx context.Context) (string, error) {
			_, text, err := posted(ctx, t, c, s.url, "{}", false)
			return text, err
		},
		"sent": func(ctx context.Context) (string, error) {
			_, text, err := send(ctx, c, "POST", s.url, "{}")
			return text, err
		},
	} {
		succeed := func(step string, ctx context.Context, answer func()) {
			t.Helper()
			done := make(chan struct{})
			go func() {
				defer close(done)
				answer()
			}()
			if text, err := send(ctx); err != nil || text != "{}" {
				t.Errorf("%s, %s: got %q, %v", name, step, text, err)
			}
			<-done
		}
		short := limited(50 * time.Millisecond)
		succeed("at once", short, func() { answers <- plainAnswer })
		succeed("before the header", limited(4*time.Second), func() {
			<-short.Done()
			answers <- plainAnswer
		})
		short = limited(50 * time.Millisecond)
		succeed("at once again", short, func() { answers <- plainAnswer })
		<-short.Done()
		succeed("behind an idle time", limited(4*time.Second), func() { answers <- plainAnswer })
		short = limited(50 * time.Millisecond)
		succeed("at once, for the last time", short, func() { answers <- plainAnswer })
		late := limited(100 * time.Millisecond)
		if _, err := send(late); !errors.Is(err, context.DeadlineExceeded) || late.Err() == nil {
			t.Errorf("%s, without an answer: %v, and the context says %v", name, err, late.Err())
		}
		answers <- plainAnswer // for a connection that is closed
	}
	if n := s.conns.Load(); n != 2 {
		t.Errorf("%d connections, want one for each way", n)
	}
}

// TestContextsEndPosts ends posts before the answer and in its body, by a
// cancellation and by a deadline, with contexts of both kinds. The server is
// told each time.
func TestContextsEndPosts(t *testing.T) {
	for name, limited := range map[string]func(context.Context, time.Duration) (context.Context, func()){
		"context": func(parent context.Context, limit time.Duration) (context.Context, func()) {
			return context.WithTimeout(parent, limit)
		},
		"lazy": func(parent context.Context, limit time.Duration) (context.Context, func()) {
			c := lazyctx.WithDeadline(lazyctx.WithCancel(parent), time.Now().Add(limit))
			return c, c.Cancel
		},
	} {
		for _, sent := range []string{"", "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{}"} {
			for _, cancelled := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s, %d bytes came, cancelled %t", name, len(sent), cancelled), func(t *testing.T) {
					asked, ended := make(chan struct{}), make(chan struct{})
					s := newScripted(t, func(_ int64, c net.Conn, in *bufio.Reader) {
						_, _ = read(in)
						_, _ = io.WriteString(c, sent)
						close(asked)
						_, _ = in.ReadByte()
						close(ended)
					})
					limit, want := time.Hour, context.Canceled
					if !cancelled {
						limit, want = 20*time.Millisecond, context.DeadlineExceeded
					}
					ctx, cancel := limited(t.Context(), limit)
					defer cancel()
					if cancelled {
						go func() {
							<-asked
							cancel()
						}()
					}
					if _, _, err := posted(ctx, t, local(t), s.url, "{}", true); !errors.Is(err, want) || !errors.Is(ctx.Err(), want) {
						t.Errorf("got %v, and the context says %v", err, ctx.Err())
					}
					<-ended
				})
			}
		}
	}
}
