package frame

import (
	"bytes"
	"context"
	"encoding/json"

	"mcpgateway/web/conn"
	"mcpgateway/web/sse"

	"github.com/a-h/templ"
	"github.com/gofiber/fiber/v2"

	"mcpgateway/views/layout"
	"mcpgateway/web"
)

// Events of a live response; views/ui.LiveForm documents their data.
const (
	eventStep = "step"
	eventDone = "done"
)

// WantsLive reports whether the page's script posted the form and requests
// progress events instead of a page with the result.
func WantsLive(c *fiber.Ctx) bool {
	c.Vary(fiber.HeaderAccept)
	named, _ := sse.AcceptsEventStream(c.Get(fiber.HeaderAccept))
	return named
}

// LiveStream is the event stream of one task.
type LiveStream struct {
	ctx    context.Context // for rendering
	stream *sse.Stream
}

// liveMessage is the data of an event.
type liveMessage struct {
	HTML string `json:"html,omitempty"`
	URL  string `json:"url,omitempty"` // of the page with the result
}

// RespondLive responds with a stream of the progress of work, and then its
// result: the outcome or the URL of its page. The context of work is cancelled
// when the browser disconnects or the user stops it.
func RespondLive(c *fiber.Ctx, assets layout.Assets, work func(ctx context.Context, live *LiveStream) (outcome templ.Component, url string)) error {
	ctx, cancel := context.WithCancel(c.UserContext())
	unwatch := func() {}
	ended := make(chan struct{})
	live := &LiveStream{ctx: layout.WithAssets(ctx, assets)}
	live.stream = sse.NewStream(c, sse.StreamOptions{Closed: func() {
		unwatch()
		cancel()
		<-ended // the request lasts as long as its work
	}})
	live.stream.Comment()
	tasks := web.EventOf(c).Background
	tasks.Go("live answer", func() {
		defer close(ended)
		if tasks.Try("live answer", func() error { live.end(work(ctx, live)); return nil }) != nil {
			live.stream.Break() // the page reports a lost connection
		}
	})
	unwatch = conn.WatchDisconnect(c, live.stream.Break)
	return live.stream.Respond(c)
}

// Show sends a line about the progress. It may be lost when the browser reads
// slowly: the outcome contains everything.
func (l *LiveStream) Show(line templ.Component) {
	if data, err := l.draw(line); err == nil {
		l.stream.Offer(eventStep, eventStep, data)
	}
}

// end sends the outcome as the last event.
func (l *LiveStream) end(outcome templ.Component, url string) {
	var data []byte
	var err error
	if url != "" {
		data, err = json.Marshal(liveMessage{URL: url})
	} else {
		data, err = l.draw(outcome)
	}
	if err != nil {
		l.stream.Break() // the page reports a lost connection
		return
	}
	l.stream.EndWith(eventDone, data)
}

// draw renders a part of a page as the data of an event.
func (l *LiveStream) draw(part templ.Component) ([]byte, error) {
	var html bytes.Buffer
	if err := part.Render(l.ctx, &html); err != nil {
		return nil, err
	}
	return json.Marshal(liveMessage{HTML: html.String()})
}
