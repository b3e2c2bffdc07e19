package egress_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestBodiesOfAllSizes sends bodies that fit the socket buffer and larger ones.
func TestBodiesOfAllSizes(t *testing.T) {
	s := newServer(t, secure("http/1.1"), func(_ int64, c net.Conn, in *bufio.Reader) {
		for {
			r, body := read(in)
			if r == nil {
				return
			}
			text := fmt.Sprintf("%s %s %s %s", r.Method, r.RequestURI, r.Host, body)
			_, _ = fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(text), text)
		}
	})
	c := local(t)
	head := "POST /mcp?a=b%20c " + strings.TrimSuffix(strings.TrimPrefix(s.url, "https://"), "/mcp?a=b%20c") + " "
	for _, size := range []int{1, 4 << 10, 100 << 10, 8 << 20} {
		body := strings.Repeat("x", size)
		status, text, err := send(t.Context(), c, "POST", s.url, body)
		if err != nil || status != http.StatusOK || text != head+body {
			t.Errorf("%d bytes sent, %d bytes received: %.80q, %v", size, len(text), text, err)
		}
	}
	if n := s.conns.Load(); n != 1 {
		t.Errorf("%d connections", n)
	}
}

// TestEarlierDeadlinesAreIgnored sends requests over one connection.
// Deadlines of earlier requests pass while later ones wait for responses and
// while the connection is idle. Each request has its own deadline.
func TestEarlierDeadlinesAreIgnored(t *testing.T) {
	answers := make(chan string)
	s := newServer(t, secure("http/1.1"), func(_ int64, c net.Conn, in *bufio.Reader) {
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
	succeed := func(step string, ctx context.Context, answer func()) {
		t.Helper()
		done := make(chan struct{})
		go func() {
			defer close(done)
			answer()
		}()
		if _, text, err := send(ctx, c, "POST", s.url, "{}"); err != nil || text != "{}" {
			t.Errorf("%s: got %q, %v", step, text, err)
		}
		<-done
	}
	short := limited(500 * time.Millisecond)
	succeed("at once", short, func() { answers <- plainAnswer })
	succeed("before the header", limited(30*time.Second), func() {
		<-short.Done()
		answers <- plainAnswer
	})
	short = limited(500 * time.Millisecond)
	succeed("at once again", short, func() { answers <- plainAnswer })
	<-short.Done()
	succeed("behind an idle time", limited(30*time.Second), func() { answers <- plainAnswer })
	short = limited(500 * time.Millisecond)
	succeed("at once, for the last time", short, func() { answers <- plainAnswer })
	late := limited(100 * time.Millisecond)
	if _, _, err := send(late, c, "POST", s.url, "{}"); !errors.Is(err, context.DeadlineExceeded) || late.Err() == nil {
		t.Errorf("without a response: %v, context error %v", err, late.Err())
	}
	answers <- plainAnswer // for a closed connection
	if n := s.conns.Load(); n != 1 {
		t.Errorf("%d connections", n)
	}
}

// TestContextsEndRequests ends requests before the response and in its body, by
// cancellation and by deadline. The server notices within 50 ms.
func TestContextsEndRequests(t *testing.T) {
	for scheme, config := range schemes() {
		for _, sent := range []string{"", "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{}"} {
			for _, cancelled := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s, %d bytes received, cancelled %t", scheme, len(sent), cancelled), func(t *testing.T) {
					received, ended := make(chan struct{}), make(chan time.Time, 1)
					s := newServer(t, config, func(_ int64, c net.Conn, in *bufio.Reader) {
						if r, _ := read(in); r == nil {
							return // it was the HTTP/2 check
						}
						_, _ = io.WriteString(c, sent)
						close(received)
						_, _ = in.ReadByte()
						ended <- time.Now()
					})
					limit, want := time.Hour, context.Canceled
					if !cancelled {
						limit, want = 500*time.Millisecond, context.DeadlineExceeded
					}
					ctx, cancel := context.WithTimeout(t.Context(), limit)
					defer cancel()
					over := make(chan time.Time, 1)
					go func() {
						<-received
						if cancelled {
							cancel()
						}
						<-ctx.Done()
						over <- time.Now()
					}()
					if _, _, err := send(ctx, local(t), "POST", s.url, "{}"); !errors.Is(err, want) || !errors.Is(ctx.Err(), want) {
						t.Errorf("got %v, context error %v", err, ctx.Err())
					}
					if late := (<-ended).Sub(<-over); late > time.Second {
						t.Errorf("server noticed after %s", late)
					}
				})
			}
		}
	}
}

// contextOf returns the test's context with a cancel function.
func contextOf(t *testing.T) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	return ctx, cancel
}

// waitFor returns when an asynchronous event has happened.
func waitFor(t *testing.T, happened func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(30 * time.Second); !happened(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatal("event did not happen within 30 s")
		}
	}
}
