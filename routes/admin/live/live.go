package live

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/access"
	"mcpgateway/services/access/reach"
	"mcpgateway/services/fault"
	"mcpgateway/services/toolset"
	"mcpgateway/views/layout"
	"mcpgateway/web"
	"mcpgateway/web/conn"
	"mcpgateway/web/guard"
	"mcpgateway/web/sse"
)

// Sessions returns the session of a cookie without extending it.
type Sessions interface {
	WatchingSession(ctx context.Context, cookie string) (access.SessionInfo, error)
}

// Options are the dependencies of Live.
type Options struct {
	Assets    layout.Assets
	Directory *toolset.Directory
	Guards    *guard.Guards
	People    Sessions
	Topics    []Topic
	Tick      time.Duration // between renderings; one second unless it is set
	KeepAlive time.Duration // between comments on an idle stream
}

// Live serves the event streams of pages.
type Live struct {
	Options
	topics map[string]Topic
	open   *streams
}

// New returns the handler.
func New(o Options) *Live {
	l := &Live{Options: o, topics: map[string]Topic{}, open: newStreams()}
	for _, t := range o.Topics {
		l.topics[t.Name] = t
	}
	if l.Tick == 0 {
		l.Tick = time.Second
	}
	return l
}

// OpenStreams returns the number of open streams.
func (l *Live) OpenStreams() int { return l.open.count() }

// Stream serves GET /admin/live?topics=&project=&from=. from is the id of the last
// event that the page received.
func (l *Live) Stream(c *fiber.Ctx) error {
	person := guard.UserOf(c)
	if person == nil {
		return fault.Unauthorized()
	}
	p, admitted, err := l.page(c, person)
	if err != nil {
		return err
	}
	free, err := l.open.take(person.ID)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(c.UserContext())
	unwatch := func() {}
	p.stream = sse.NewStream(c, sse.StreamOptions{
		KeepAlive: l.KeepAlive, Alive: l.stillAuthorized(ctx, l.Guards.SessionCookie(c), admitted), Stop: func() {}, // nothing is sent at shutdown
		Closed: func() {
			unwatch()
			cancel()
			free()
		},
	})
	p.stream.Comment()
	tasks := web.EventOf(c).Background
	tasks.Go("live page", func() {
		if tasks.Try("live page", func() error { return p.follow(ctx, l.Tick) }) != nil {
			p.stream.End() // the browser reconnects
		}
	})
	unwatch = conn.WatchDisconnect(c, p.stream.Break)
	return p.stream.Respond(c)
}

// page opens the topics of a request. admitted reports whether a maintainer may
// still follow them.
func (l *Live) page(c *fiber.Ctx, person *guard.User) (p *page, admitted func() bool, err error) {
	var names []string
	for _, value := range c.Context().QueryArgs().PeekMulti("topics") {
		names = append(names, string(value))
	}
	topics, args, err := l.requested(names)
	if err != nil {
		return nil, nil, err
	}
	mine := reach.Of(c.UserContext())
	project, admitted := func() *toolset.Snapshot { return nil }, mine.Maintains
	if slug := strings.Clone(c.Query("project")); slug != "" {
		project = func() *toolset.Snapshot {
			now, err := l.Directory.Project(slug)
			if err != nil || !mine.Sees(&now.Project) {
				return nil
			}
			return now
		}
		if project() == nil {
			return nil, nil, fault.NotFound("project", slug)
		}
		admitted = func() bool { return project() != nil }
	}
	p = &page{assets: l.Assets, sent: map[string][sha256.Size]byte{}}
	for i, topic := range topics {
		render, err := topic.Open(Scope{Person: person, Project: project, Reach: mine, Arg: args[i], From: cmp.Or(strings.Clone(c.Query("from")), c.Get(sse.HeaderLastEventID))})
		if err != nil {
			return nil, nil, err
		}
		p.topics = append(p.topics, openTopic{every: topic.Every, render: render})
	}
	return p, admitted, nil
}

// stillAuthorized returns a function that reports whether the user may still see
// the page. The user can sign out, or lose the role or grant while it is open.
func (l *Live) stillAuthorized(ctx context.Context, cookie string, admitted func() bool) func() bool {
	return func() bool {
		session, err := l.People.WatchingSession(ctx, cookie)
		return err == nil && (access.Administers(session.Person.EffectiveRole) || admitted())
	}
}

// page is one open page.
type page struct {
	assets layout.Assets
	stream *sse.Stream
	topics []openTopic
	sent   map[string][sha256.Size]byte // hash of the HTML last sent, by id
}

type openTopic struct {
	every  time.Duration
	due    time.Time
	render Render
}

// follow renders the topics when they are due, until the stream ends.
func (p *page) follow(ctx context.Context, tick time.Duration) error {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		if err := p.look(ctx, time.Now()); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-p.stream.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// look renders the topics that are due.
func (p *page) look(ctx context.Context, now time.Time) error {
	for i := range p.topics {
		t := &p.topics[i]
		if now.Before(t.due) {
			continue
		}
		t.due = now.Add(t.every - time.Second/10) // a tick may come a little early
		parts, err := t.render(ctx)
		if err != nil {
			return err
		}
		for _, part := range parts {
			if err := p.send(ctx, part); err != nil {
				return err
			}
		}
	}
	return nil
}

// message is the data of an event.
type message struct {
	ID   string `json:"id"`
	HTML string `json:"html"`
	Keep int    `json:"keep,omitempty"` // rows to add at the beginning of the element
}

// send sends a part unless its HTML is the one sent before.
func (p *page) send(ctx context.Context, part Part) error {
	var html bytes.Buffer
	if err := part.Body.Render(layout.WithAssets(ctx, p.assets), &html); err != nil {
		return err
	}
	if part.Prepend == 0 {
		hash := sha256.Sum256(html.Bytes())
		if p.sent[part.ID] == hash {
			return nil
		}
		p.sent[part.ID] = hash
	}
	var data bytes.Buffer
	plain := json.NewEncoder(&data)
	plain.SetEscapeHTML(false)
	if err := plain.Encode(message{part.ID, html.String(), part.Prepend}); err != nil {
		return err
	}
	text := bytes.TrimSuffix(data.Bytes(), []byte("\n"))
	if part.Event != "" {
		p.stream.SendWithID(part.Event, "", text)
	} else {
		p.stream.Send("", text)
	}
	return nil
}
