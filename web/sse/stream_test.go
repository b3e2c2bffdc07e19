package sse_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/web/sse"
)

// readStream runs a handler and returns the body of its response.
func readStream(t *testing.T, handle func(c *fiber.Ctx) error) (string, error) {
	t.Helper()
	app := fiber.New(fiber.Config{DisableStartupMessage: true})
	app.Get("/", handle)
	resp, err := app.Test(httptest.NewRequest(http.MethodGet, "/", nil), -1)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	return string(b), err
}

func TestEventFormat(t *testing.T) {
	got, err := readStream(t, func(c *fiber.Ctx) error {
		s := sse.NewStream(c, sse.StreamOptions{})
		s.Send("", []byte(`{"a":1}`))
		s.Comment()
		s.Send("message", []byte("{\n \"b\":\r\n2}\r"))
		s.SendBlocking("x", nil)
		s.EndWith("", []byte("last"), []byte("[DONE]"))
		if s.Send("", []byte("late")) || s.SendBlocking("", []byte("late")) {
			t.Error("event accepted after the end")
		}
		s.Offer("", "k", []byte("late"))
		s.Comment()
		s.EndWith("", []byte("late"))
		return s.Respond(c)
	})
	want := "data: {\"a\":1}\n\n: \n\nevent: message\ndata: {  \"b\":  2} \n\nevent: x\ndata: \n\ndata: last\n\ndata: [DONE]\n\n"
	if err != nil || got != want {
		t.Errorf("stream = %q, %v; want %q", got, err, want)
	}
}

func TestQueueBounds(t *testing.T) {
	for _, c := range []struct {
		name  string
		count int
		size  int // of a whole event
		fits  bool
	}{
		{"messages below", sse.MaxStreamMessages - 1, 100, true},
		{"messages at", sse.MaxStreamMessages, 100, true},
		{"messages above", sse.MaxStreamMessages + 1, 100, false},
		{"bytes below", 64, sse.MaxStreamBytes/64 - 1, true},
		{"bytes at", 64, sse.MaxStreamBytes / 64, true},
		{"bytes above", 64, sse.MaxStreamBytes/64 + 1, false},
		{"one alone", 1, sse.MaxStreamBytes + 1, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			data := bytes.Repeat([]byte("x"), c.size-len("data: \n\n"))
			closed := 0
			var stream *sse.Stream
			got, err := readStream(t, func(ctx *fiber.Ctx) error {
				stream = sse.NewStream(ctx, sse.StreamOptions{Closed: func() { closed++ }})
				taken := true
				for range c.count {
					taken = stream.Send("", data)
				}
				if taken != c.fits {
					t.Errorf("last event accepted: %v, want %v", taken, c.fits)
				}
				stream.End()
				return stream.Respond(ctx)
			})
			if c.fits && (err != nil || len(got) != c.count*c.size) {
				t.Errorf("received %d bytes, %v; want %d", len(got), err, c.count*c.size)
			}
			if !c.fits && err == nil {
				t.Errorf("broken stream appears complete: %d bytes", len(got))
			}
			select {
			case <-stream.Done():
			default:
				t.Error("Over is not closed")
			}
			if closed != 1 {
				t.Errorf("Closed was called %d times", closed)
			}
		})
	}
}

func TestOfferedEventsAreReplaced(t *testing.T) {
	got, err := readStream(t, func(c *fiber.Ctx) error {
		s := sse.NewStream(c, sse.StreamOptions{})
		for range sse.MaxStreamMessages - 1 {
			s.Comment()
		}
		s.Offer("", "a", []byte("first"))
		s.Offer("", "b", []byte("dropped"))
		s.Offer("", "a", []byte("second"))
		s.Comment()
		s.EndWith("", []byte("last"))
		return s.Respond(c)
	})
	if want := strings.Repeat(": \n\n", sse.MaxStreamMessages-1) + "data: second\n\ndata: last\n\n"; err != nil || got != want {
		t.Errorf("stream = %q, %v", got, err)
	}
}

func TestSendWhenRoomEndsWithStream(t *testing.T) {
	sent := make(chan bool, 1)
	_, err := readStream(t, func(c *fiber.Ctx) error {
		s := sse.NewStream(c, sse.StreamOptions{})
		for range sse.MaxStreamMessages {
			s.Comment()
		}
		go func() { sent <- s.SendBlocking("", []byte("x")) }()
		s.Break()
		return s.Respond(c)
	})
	if err == nil {
		t.Error("broken stream appears complete")
	}
	if <-sent {
		t.Error("broken stream accepted an event")
	}
}

func TestIdleStreamKeepAlive(t *testing.T) {
	asked := 0
	got, err := readStream(t, func(c *fiber.Ctx) error {
		s := sse.NewStream(c, sse.StreamOptions{KeepAlive: time.Millisecond, Alive: func() bool {
			asked++
			return asked < 4
		}})
		return s.Respond(c)
	})
	if want := strings.Repeat(": \n\n", 3); err != nil || got != want {
		t.Errorf("stream = %q, %v; want %q", got, err, want)
	}
}

func TestRevokedStreamSendsNothing(t *testing.T) {
	asked := 0
	got, err := readStream(t, func(c *fiber.Ctx) error {
		var s *sse.Stream
		s = sse.NewStream(c, sse.StreamOptions{KeepAlive: time.Hour, Alive: func() bool {
			if asked++; asked == 1 {
				s.Send("", []byte("after the end"))
			}
			return asked == 1
		}})
		s.Send("", []byte("while alive"))
		return s.Respond(c)
	})
	if want := "data: while alive\n\n"; err != nil || got != want {
		t.Errorf("stream = %q, %v; want %q", got, err, want)
	}
}

func TestStreamRead(t *testing.T) {
	app := fiber.New(fiber.Config{DisableStartupMessage: true})
	var whole, broken *sse.Stream
	app.Get("/", func(c *fiber.Ctx) error {
		whole, broken = sse.NewStream(c, sse.StreamOptions{}), sse.NewStream(c, sse.StreamOptions{})
		return nil
	})
	resp, err := app.Test(httptest.NewRequest(http.MethodGet, "/", nil), -1)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	whole.EndWith("", []byte("a"), []byte("b"))
	var b bytes.Buffer
	for p := make([]byte, 3); ; {
		n, err := whole.Read(p)
		b.Write(p[:n])
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if b.String() != "data: a\n\ndata: b\n\n" {
		t.Errorf("read %q", b.String())
	}
	broken.Break()
	if _, err := broken.Read(make([]byte, 1)); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("broken stream ends with %v", err)
	}
	whole.Discard()
	whole.Discard()
}

func TestAcceptHeaders(t *testing.T) {
	for _, c := range []struct {
		accept      string
		named, only bool
	}{
		{"", false, false},
		{"*/*", false, false},
		{"application/json", false, false},
		{"text/event-stream", true, true},
		{"TEXT/Event-Stream ; q=0.1", true, true},
		{"application/json, text/event-stream", true, false},
		{"text/event-stream,*/*;q=0.1", true, false},
		{"text/event-stream, application/json;q=0", true, true},
		{"text/event-stream;q=0, application/json", false, false},
		{"text/event-stream;q=0.000", false, false},
		{"text/event-streams", false, false},
		{",", false, false},
	} {
		if named, only := sse.AcceptsEventStream(c.accept); named != c.named || only != c.only {
			t.Errorf("%q: named %v, only %v; want %v, %v", c.accept, named, only, c.named, c.only)
		}
	}
}
