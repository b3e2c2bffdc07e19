package sse_test

import (
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/web"
	"mcpgateway/web/sse"
	"mcpgateway/web/webtest"
)

// TestEventsFromParts checks that parts of any length become one event without
// line breaks in its data, and that the parts are unchanged.
func TestEventsFromParts(t *testing.T) {
	const long = 64 << 10
	for _, n := range []int{0, 1, long - 1, long, long + 1, 1 << 20} {
		for _, lineEnd := range []string{"", "\r\n"} {
			t.Run(fmt.Sprintf("%d bytes and %q", n, lineEnd), func(t *testing.T) {
				part := strings.Repeat("x", n) + lineEnd
				raw := []byte(part)
				var sent atomic.Int32
				app, _ := webtest.NewApp(t)
				app.Get("/", func(c *fiber.Ctx) error {
					s := sse.NewStream(c, sse.StreamOptions{})
					s.SendPartsBlocking("message", func() { sent.Add(1) }, []byte("[1,"), raw, []byte("]"))
					s.EndWithParts("message", [][]byte{[]byte("[2,"), raw, []byte("]")}, []byte("[DONE]"))
					if s.SendPartsBlocking("message", func() { sent.Add(1) }, []byte("late")) {
						t.Error("event accepted after the last")
					}
					return s.Respond(c)
				})
				data := strings.Repeat("x", n) + strings.Repeat(" ", len(lineEnd)) + "]\n\n"
				want := "event: message\ndata: [1," + data + "event: message\ndata: [2," + data + "event: message\ndata: [DONE]\n\n"
				if got := webtest.Send(t, app, webtest.Case{Path: "/"}).Body; got != want {
					t.Errorf("%d bytes, want %d: %.100q", len(got), len(want), got)
				}
				if string(raw) != part || sent.Load() != 2 {
					t.Errorf("part changed, or %d of 2 events released", sent.Load())
				}
			})
		}
	}
}

// TestPartsAreReleasedOnce checks that parts that were sent, or replaced by an
// error, are released once.
func TestPartsAreReleasedOnce(t *testing.T) {
	for name, failed := range map[string]error{"sent": nil, "failed": io.ErrUnexpectedEOF} {
		t.Run(name, func(t *testing.T) {
			ended := 0
			app, _ := webtest.NewApp(t)
			app.Get("/", func(c *fiber.Ctx) error {
				_ = web.SendPartsThen(c, func() { ended++ }, []byte("a"), nil, []byte("b"))
				return failed
			})
			answer := webtest.Send(t, app, webtest.Case{Path: "/"})
			if ended != 1 || (answer.Body == "ab") != (failed == nil) {
				t.Errorf("released %d times: %d %s", ended, answer.Status, answer.Body)
			}
		})
	}
}
