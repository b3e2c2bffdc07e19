package sse_test

import (
	"strings"
	"testing"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/web/sse"
)

func TestEventsCanCarryAnID(t *testing.T) {
	got, err := play(t, func(c *fiber.Ctx) error {
		s := sse.NewStream(c, sse.StreamOptions{})
		s.SendWithID("7", "", []byte("<li>\n</li>"))
		s.EndWith("", []byte("last"))
		if s.SendWithID("8", "", nil) {
			t.Error("a message was taken behind the end")
		}
		return s.Answer(c)
	})
	if want := "id: 7\ndata: <li> </li>\n\ndata: last\n\n"; err != nil || got != want {
		t.Errorf("the stream is %q (%v), want %q", got, err, want)
	}
}

func TestEventsWithAnIDAreBounded(t *testing.T) {
	_, _ = play(t, func(c *fiber.Ctx) error {
		s := sse.NewStream(c, sse.StreamOptions{})
		defer s.Discard()
		for i := range sse.MaxStreamMessages {
			if !s.SendWithID("1", "", []byte("x")) {
				t.Fatalf("message %d was not taken", i)
			}
		}
		if s.SendWithID("1", "", []byte(strings.Repeat("x", 10))) {
			t.Error("more wait than may")
		}
		return nil
	})
}
