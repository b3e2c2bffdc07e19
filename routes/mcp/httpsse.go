package mcp

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/routes/mcp/resume"
	"mcpgateway/services/access"
	"mcpgateway/services/background"
	"mcpgateway/services/fault"
	"mcpgateway/services/gateway"
	"mcpgateway/services/toolset"
	"mcpgateway/web"
	"mcpgateway/web/conn"
	"mcpgateway/web/sse"
)

// postedSessions are the open sessions of the HTTP+SSE transport (MCP
// 2024-11-05, "HTTP with SSE"). A session exists only in the process with its
// stream, and ends with it.
type postedSessions struct {
	mu   sync.Mutex
	open map[string]*sseSession // by session id
}

func newPostedSessions() *postedSessions {
	return &postedSessions{open: map[string]*sseSession{}}
}

// sseSession is a session whose stream carries the responses to requests
// posted to its URL.
type sseSession struct {
	id        string
	projectID string
	principal string
	stream    *sse.Stream
	live      *liveSession
	ctx       context.Context // ends with the stream
	slots     chan struct{}   // semaphore for running requests

	mu           sync.Mutex
	version      string
	capabilities []byte
}

func (p *postedSessions) add(s *sseSession) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open[s.id] = s
}

func (p *postedSessions) remove(s *sseSession) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, s.id)
}

// find returns the session with the id. It returns NOT_FOUND if the id is
// unknown or belongs to another project or principal.
func (p *postedSessions) find(id, projectID string, principal access.Principal) (*sseSession, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.open[id]
	if s == nil || s.projectID != projectID || s.principal != principal.Caller() {
		return nil, fault.New(fault.KindNotFound, fault.CodeNotFound, "This session has ended. Open the stream again.")
	}
	return s, nil
}

// openSSESession responds to a GET with a stream. Its first event contains the URL
// for the client's requests.
func (e *Endpoint) openSSESession(c *fiber.Ctx, in *admitted) error {
	free, err := e.slots.Take(streamOwner(c, in.principal))
	if err != nil {
		return err
	}
	web.EventOf(c).Method = "stream"
	s := &sseSession{
		id: rand.Text(), projectID: in.principal.ProjectID(), principal: in.principal.Caller(),
		slots: make(chan struct{}, maxPosted), version: gateway.VersionAssumed,
	}
	ctx, cancel := context.WithCancel(c.UserContext())
	s.ctx, s.live = ctx, e.live.enter(s.id)
	unsubscribe, unwatch := func() {}, func() {}
	s.stream = sse.NewStream(c, sse.StreamOptions{
		KeepAlive: e.KeepAlive,
		Alive:     e.stillAdmitted(c, in),
		Stop:      func() {}, // the protocol has no final message
		Closed: func() {
			e.posted.remove(s)
			unsubscribe()
			unwatch()
			cancel()
			free()
			s.live.leave()
			_ = e.Levels.Forget(context.WithoutCancel(ctx), s.id) // on an error the row remains until it expires
			e.Subscriptions.End(s.id)
		},
	})
	s.stream.Send("endpoint", []byte(in.at.Path()+"/sse?"+querySession+"="+s.id))
	e.posted.add(s)
	unsubscribe = e.subscribe(&gateway.Client{Principal: in.principal, SessionID: s.id, Version: s.version}, s.stream)
	unwatch = conn.WatchDisconnect(c, s.stream.Break)
	return s.stream.Respond(c)
}

// postToStream accepts messages that a client posts to the URL of its session.
// Responses are sent on the session's stream.
func (e *Endpoint) postToStream(c *fiber.Ctx, in *admitted) error {
	project := in.view
	s, err := e.posted.find(c.Query(querySession), in.principal.ProjectID(), in.principal)
	if err != nil {
		return err
	}
	body, err := web.JSONBody(c)
	if err != nil {
		return err
	}
	messages, _, problem := parseBody(body)
	if problem != nil {
		return problem.answer(c)
	}
	event := web.EventOf(c)
	errs := event.Errors()
	client := s.client(e, newClient(c, in))
	if err := e.permit(c, in, messages); err != nil {
		return err
	}
	if err := e.allow(project, client, messages); err != nil {
		return err
	}
	if err := s.reserve(messages); err != nil {
		return err
	}
	e.handleControl(client, messages)
	for _, m := range messages {
		switch {
		case m.err != nil:
			s.stream.Send(messageEvent, m.err.append(nil, errs))
		case m.isRequest() && len(messages) == 1:
			event.Method = m.method
			event.Hold()
			event.Background.Go("HTTP+SSE request", func() {
				defer event.Release()
				var trace gateway.RequestInfo
				if err := e.tryPosted(event.Background, s, project, client, m, errs, &trace); err != nil {
					event.Fault(err)
				}
				event.Tool, event.Upstream = trace.Tool, trace.Server
			})
		case m.isRequest():
			event.Method = "batch"
			tasks := event.Background
			tasks.Go("HTTP+SSE request", func() { _ = e.tryPosted(tasks, s, project, client, m, errs, nil) }) // the client receives the error
		}
	}
	return accepted(c)
}

// client adds the session's version, capabilities, log level and stream to the
// client of a request.
func (s *sseSession) client(e *Endpoint, client *gateway.Client) *gateway.Client {
	s.mu.Lock()
	defer s.mu.Unlock()
	client.Version, client.SessionID, client.Capabilities, client.LogLevel = s.version, s.id, s.capabilities, e.Levels.Of(s.id)
	stream := resume.Plain(s.stream)
	client.Notify = func(method string, params []byte) { sendNotification(stream, method, params) }
	client.Push = func(method string, params []byte) bool {
		select {
		case <-s.stream.Done():
			return false
		default:
			sendNotification(stream, method, params)
			return true
		}
	}
	client.Ask = func(ctx context.Context, method string, params []byte) (result, rpcError []byte, err error) {
		return s.live.request(ctx, stream, method, params)
	}
	return client
}

// reserve acquires a slot for each request in messages. If there are too few
// slots, it acquires none and returns RATE_LIMITED.
func (s *sseSession) reserve(messages []*message) error {
	taken := 0
	for _, m := range messages {
		if !m.isRequest() {
			continue
		}
		select {
		case s.slots <- struct{}{}:
			taken++
		default:
			for range taken {
				<-s.slots
			}
			f := fault.New(fault.KindRateLimited, fault.CodeRateLimited, "This session already has the maximum of %d running requests. Retry later.", maxPosted)
			f.RetryAfter = streamRetry
			return f
		}
	}
	return nil
}

// tryPosted calls respondOnStream. After a panic it breaks the stream, because the
// client would wait for the response forever.
func (e *Endpoint) tryPosted(tasks *background.Tasks, s *sseSession, project *toolset.Snapshot, client *gateway.Client, m *message, errs web.ErrorContext, trace *gateway.RequestInfo) error {
	err := tasks.Try("HTTP+SSE request", func() error { return e.respondOnStream(s, project, client, m, errs, trace) })
	if panicked := (*background.PanicError)(nil); errors.As(err, &panicked) {
		s.stream.Break()
	}
	return err
}

// respondOnStream handles one request, responds on the session's stream and
// releases the request's slot. It returns the error sent to the client.
func (e *Endpoint) respondOnStream(s *sseSession, project *toolset.Snapshot, client *gateway.Client, m *message, errs web.ErrorContext, trace *gateway.RequestInfo) error {
	defer func() { <-s.slots }()
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	call := &runningCall{id: m.id, cancel: cancel}
	s.live.begin(call)
	lease := e.Results.NewLease()
	own := *client // each request of a POST has its own lease
	own.Memory = lease
	result, err := e.handle(ctx, project, &own, m, trace)
	cancelled := s.live.done(call)
	switch {
	case err == nil:
		if m.method == "initialize" {
			s.settle(gateway.NegotiatedVersion(m.params), declaredCapabilities(m.params))
		}
		s.stream.SendPartsBlocking(messageEvent, lease.Release, appendResultHead(nil, m.id), result, []byte{'}'})
		return nil
	case !cancelled:
		s.stream.SendBlocking(messageEvent, newErrorResponse(err, client, m.id).append(nil, errs))
	}
	lease.Release()
	return err
}

// settle stores the result of the handshake.
func (s *sseSession) settle(version string, capabilities []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version, s.capabilities = version, capabilities
}
