package sse_test

import (
	"strings"
	"testing"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/web/sse"
)

func TestEventIDs(t *testing.T) {
	got, err := readStream(t, func(c *fiber.Ctx) error {
		s := sse.NewStream(c, sse.StreamOptions{})
		s.SendWithID("7", "", []byte("<li>\n</li>"))
		s.EndWith("", []byte("last"))
		if s.SendWithID("8", "", nil) {
			t.Error("event accepted after the end")
		}
		return s.Respond(c)
	})
	if want := "id: 7\ndata: <li> </li>\n\ndata: last\n\n"; err != nil || got != want {
		t.Errorf("stream = %q, %v; want %q", got, err, want)
	}
}

func TestEventsWithIDAreBounded(t *testing.T) {
	_, _ = readStream(t, func(c *fiber.Ctx) error {
		s := sse.NewStream(c, sse.StreamOptions{})
		defer s.Discard()
		for i := range sse.MaxStreamMessages {
			if !s.SendWithID("1", "", []byte("x")) {
				t.Fatalf("event %d was rejected", i)
			}
		}
		if s.SendWithID("1", "", []byte(strings.Repeat("x", 10))) {
			t.Error("queue exceeds its limit")
		}
		return nil
	})
}
