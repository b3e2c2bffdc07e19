package observe

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"mcpgateway/models"
	"mcpgateway/services/activity"
	"mcpgateway/services/fault"
	"mcpgateway/services/toolset"
	views "mcpgateway/views/admin"
	"mcpgateway/views/layout"
	"mcpgateway/web"
	"mcpgateway/web/conn"
	"mcpgateway/web/guard"
	"mcpgateway/web/sse"
)

// Limits of the live streams.
const (
	MaxTailsPerPerson = 5
	maxTails          = 100
	callsPerLook      = 100
	tailRetry         = 10 * time.Second
)

// Live serves GET /admin/projects/:projectSlug/activity/live?query=: an event
// stream with the rows of new calls, newest of each poll first. Events have ids,
// so a browser that reconnects misses nothing.
func (a *Activity) Live(c *fiber.Ctx) error {
	project, err := a.Pages.Project(c)
	if err != nil {
		return err
	}
	person := guard.UserOf(c)
	if person == nil {
		return fault.Unauthorized()
	}
	asked, err := a.parseQuery(c, project)
	if err != nil {
		return err
	}
	tail := &tail{calls: a.Calls, names: NewCallers(a.Keys, a.People), question: *asked, assets: a.Pages.Assets}
	tail.question.filter.Since, tail.question.filter.Until = time.Time{}, time.Time{}
	if err := tail.begin(c.UserContext(), c.Get(sse.HeaderLastEventID)); err != nil {
		return err
	}
	free, err := a.live.take(person.ID)
	if err != nil {
		return err
	}
	return a.stream(c, project, tail, free)
}

// stream sends the calls found by tail until the browser disconnects or the user
// loses access. free is called at the end.
func (a *Activity) stream(c *fiber.Ctx, project *toolset.Snapshot, tail *tail, free func()) error {
	ctx, cancel := context.WithCancel(c.UserContext())
	unwatch := func() {}
	tail.stream = sse.NewStream(c, sse.StreamOptions{
		KeepAlive: a.KeepAlive, Alive: a.stillAuthorized(ctx, project, a.Guards.SessionCookie(c)), Stop: func() {}, // nothing is sent at shutdown
		Closed: func() {
			unwatch()
			cancel()
			free()
		},
	})
	tail.stream.Comment()
	tasks := web.EventOf(c).Background
	tasks.Go("live activity", func() {
		if tasks.Try("live activity", func() error { tail.follow(ctx, a.Poll); return nil }) != nil {
			tail.stream.End() // the browser reconnects automatically
		}
	})
	unwatch = conn.WatchDisconnect(c, tail.stream.Break)
	return tail.stream.Respond(c)
}

// stillAuthorized returns a function that reports whether the user may still see the
// calls. The user can sign out or lose the role while the page is open.
func (a *Activity) stillAuthorized(ctx context.Context, project *toolset.Snapshot, cookie string) func() bool {
	return func() bool {
		now, err := a.Pages.Directory.Project(project.Project.Slug)
		if err != nil || now.Project.ID != project.Project.ID {
			return false
		}
		session, err := a.People.WatchingSession(ctx, cookie)
		return err == nil && slices.Contains([]models.Role{models.RoleAdmin, models.RoleViewer}, session.Person.Role)
	}
}

// tail polls for new calls for one open page.
type tail struct {
	calls    *activity.Calls
	names    *Callers
	question activityQuery
	assets   layout.Assets
	stream   *sse.Stream
	last     string // id of the newest processed call
}

// begin sets the start of the stream: after the last event that the browser
// received, or after the newest call.
func (t *tail) begin(ctx context.Context, seen string) (err error) {
	if id, parseErr := uuid.Parse(seen); parseErr == nil {
		t.last = id.String()
		return nil
	}
	t.last, err = t.newest(ctx)
	return err
}

// newest returns the id of the project's newest call, ignoring the filter.
func (t *tail) newest(ctx context.Context) (string, error) {
	_, id, err := t.calls.After(ctx, activity.CallFilter{ProjectID: t.question.filter.ProjectID}, "", 1)
	return id, err
}

// follow polls for new calls until the stream ends. A failed poll ends the stream,
// and the browser reconnects automatically.
func (t *tail) follow(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.stream.Done():
			return
		case <-tick.C:
		}
		if err := t.poll(ctx); err != nil {
			t.stream.End()
			return
		}
	}
}

func (t *tail) poll(ctx context.Context) error {
	calls, last, err := t.calls.After(ctx, t.question.filter, t.last, callsPerLook)
	if err != nil {
		return err
	}
	if len(calls) == callsPerLook {
		// Calls arrive faster than they can be read: continue after the newest.
		if last, err = t.newest(ctx); err != nil {
			return err
		}
	}
	if t.last = last; len(calls) == 0 {
		return nil
	}
	t.question.now = time.Now().UTC()
	var rows bytes.Buffer
	drawn := layout.WithAssets(ctx, t.assets)
	for _, call := range slices.Backward(calls) {
		if err := views.ActivityLine(rowOf(call, &t.question, t.names.Of(ctx, call.Principal))).Render(drawn, &rows); err != nil {
			return err
		}
	}
	t.stream.SendWithID(t.last, "", rows.Bytes())
	return nil
}

// liveTails counts the open streams of each user and in total.
type liveTails struct {
	mu    sync.Mutex
	total int
	used  map[string]int // by user id; no zero values
}

func newLiveTails() *liveTails { return &liveTails{used: map[string]int{}} }

func (l *liveTails) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.total
}

// take reserves a stream and returns the function that releases it, or
// RATE_LIMITED.
func (l *liveTails) take(person string) (free func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.used[person] >= MaxTailsPerPerson || l.total >= maxTails {
		f := fault.New(fault.KindRateLimited, fault.CodeRateLimited, "Too many live tabs are open. Close some to see live updates.")
		f.RetryAfter = tailRetry
		return nil, f
	}
	l.total++
	l.used[person]++
	return sync.OnceFunc(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.total--
		if l.used[person]--; l.used[person] == 0 {
			delete(l.used, person)
		}
	}), nil
}
