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

// Bounds of the pages that follow the calls as they come.
const (
	MaxTailsPerPerson = 5
	maxTails          = 100
	callsPerLook      = 100
	tailRetry         = 10 * time.Second
)

// Live serves GET /admin/projects/:projectSlug/activity/live?query=: a stream
// with the lines of the calls that come, the newest of each look first. Its
// events have ids, so that a browser that lost the stream misses nothing.
func (a *Activity) Live(c *fiber.Ctx) error {
	project, err := a.Pages.Project(c)
	if err != nil {
		return err
	}
	person := guard.PersonOf(c)
	if person == nil {
		return fault.Unauthorized()
	}
	asked, err := a.asked(c, project)
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

// stream answers with what a tail finds, until the browser leaves or its person
// may not look on. free is called at the end.
func (a *Activity) stream(c *fiber.Ctx, project *toolset.Snapshot, tail *tail, free func()) error {
	ctx, cancel := context.WithCancel(c.UserContext())
	unwatch := func() {}
	tail.stream = sse.NewStream(c, sse.StreamOptions{
		KeepAlive: a.KeepAlive, Alive: a.mayLookOn(ctx, project, a.Guards.SessionCookie(c)), Stop: func() {}, // it has no last words
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
			tail.stream.End() // the browser comes back by itself
		}
	})
	unwatch = conn.WatchDisconnect(c, tail.stream.Break)
	return tail.stream.Answer(c)
}

// mayLookOn returns a function that reports whether somebody may still see the
// calls: they may have signed out or lost their role while a page is open.
func (a *Activity) mayLookOn(ctx context.Context, project *toolset.Snapshot, cookie string) func() bool {
	return func() bool {
		now, err := a.Pages.Directory.Project(project.Project.Slug)
		if err != nil || now.Project.ID != project.Project.ID {
			return false
		}
		session, err := a.People.WatchingSession(ctx, cookie)
		return err == nil && slices.Contains([]models.Role{models.RoleAdmin, models.RoleViewer}, session.Person.Role)
	}
}

// tail follows the calls for one open page.
type tail struct {
	calls    *activity.Calls
	names    *Callers
	question activityQuestion
	assets   layout.Assets
	stream   *sse.Stream
	last     string // id of the newest call that was seen
}

// begin sets where the stream goes on: behind what the browser saw last, or
// behind the newest call.
func (t *tail) begin(ctx context.Context, seen string) (err error) {
	if id, parseErr := uuid.Parse(seen); parseErr == nil {
		t.last = id.String()
		return nil
	}
	t.last, err = t.newest(ctx)
	return err
}

// newest returns the id of the project's newest call, whether or not it is one
// of those that are followed.
func (t *tail) newest(ctx context.Context) (string, error) {
	_, id, err := t.calls.After(ctx, activity.CallFilter{ProjectID: t.question.filter.ProjectID}, "", 1)
	return id, err
}

// follow looks for new calls until the stream ends. A look that fails ends the
// stream; the browser comes back by itself.
func (t *tail) follow(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.stream.Over():
			return
		case <-tick.C:
		}
		if err := t.look(ctx); err != nil {
			t.stream.End()
			return
		}
	}
}

func (t *tail) look(ctx context.Context) error {
	calls, last, err := t.calls.After(ctx, t.question.filter, t.last, callsPerLook)
	if err != nil {
		return err
	}
	if len(calls) == callsPerLook {
		// They come faster than anybody reads: the next look is at the newest.
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

// liveTails count the streams that are open, of each person and in all.
type liveTails struct {
	mu    sync.Mutex
	total int
	used  map[string]int // by person; no zeros
}

func newLiveTails() *liveTails { return &liveTails{used: map[string]int{}} }

func (l *liveTails) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.total
}

// take returns what frees a place again, or RATE_LIMITED.
func (l *liveTails) take(person string) (free func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.used[person] >= MaxTailsPerPerson || l.total >= maxTails {
		f := fault.New(fault.KindRateLimited, fault.CodeRateLimited, "too many pages follow the calls already: close some of them")
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
