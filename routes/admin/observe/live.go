package observe

import (
	"context"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"

	"mcpgateway/routes/admin/live"
	"mcpgateway/services/access/reach"
	"mcpgateway/services/fault"
	"mcpgateway/services/toolset"
	views "mcpgateway/views/admin"
)

// The live topics of the page of calls. Their argument is the parameters of the
// page; that of callsTopic begins with the id of the newest call on the page.
const (
	callsTopic   = "calls"
	numbersTopic = "activity"
	emptyParam   = "empty" // set if the page shows no calls
)

// Limits of the live parts.
const (
	liveRows    = 200 // in the list
	liveAtOnce  = 40  // new rows at a time; of more, the newest are shown
	numbersWait = 5 * time.Second
	maxLiveArg  = 2_000 // length of parameters; longer ones are not live
)

// Topics returns the live topics of the page of calls.
func (a *Activity) Topics() []live.Topic {
	return []live.Topic{
		{Name: numbersTopic, Every: numbersWait, Open: a.liveNumbers},
		{Name: callsTopic, Every: time.Second, Open: a.liveCalls},
	}
}

// follow returns the live topics of a page. A period that has ended has none.
func (a *Activity) follow(ctx context.Context, p *views.ActivityProps, q *activityQuery) ([]string, error) {
	arg := q.values().Encode()
	if q.times.period.To.Before(q.now) || q.times.selected() && q.times.to.Before(q.now) || len(arg) > maxLiveArg {
		return nil, nil
	}
	newest := noCall
	if len(p.Days) > 0 {
		newest = p.Days[0].Rows[0].ID
	} else if p.Any {
		var err error
		if newest, err = a.Calls.Newest(ctx, q.filter.ProjectID); err != nil {
			return nil, err
		}
	}
	if !p.Any {
		arg += "&" + emptyParam + "=1"
	}
	p.Live = true
	return []string{numbersTopic + ":" + arg, callsTopic + ":" + newest + ":" + arg}, nil
}

// reread reads the parameters of a page again, at the current time.
func (a *Activity) reread(ctx context.Context, project *toolset.Snapshot, arg string) (*activityQuery, url.Values, error) {
	values, err := url.ParseQuery(arg)
	if err != nil || project == nil {
		return nil, nil, fault.Invalid("This part of the page can't be followed.")
	}
	q, err := a.readQuery(ctx, project, values)
	return q, values, err
}

// liveNumbers renders the numbers and charts of a page.
func (a *Activity) liveNumbers(s live.Scope) (live.Render, error) {
	if _, _, err := a.reread(reach.With(context.Background(), s.Reach), s.Project(), s.Arg); err != nil {
		return nil, err
	}
	return func(ctx context.Context) ([]live.Part, error) {
		project := s.Project()
		q, _, err := a.reread(ctx, project, s.Arg)
		if err != nil {
			return nil, err
		}
		p := a.props(project, q)
		if err := a.fillWithin(ctx, func(ctx context.Context) error { return a.numbers(ctx, &p, project, q) }); err != nil {
			return nil, err
		}
		return []live.Part{
			{ID: "activity-stats", Body: views.ActivityStats(p)}, {ID: "activity-calls", Body: views.ActivityBars(p)}, {ID: "activity-latency", Body: views.ActivityLatency(p)},
			{ID: "activity-breakdowns", Body: views.ActivityBreakdowns(p)}, {ID: "activity-matches", Body: views.ActivityMatch(p)},
		}, nil
	}, nil
}

// callTail renders the new calls of a page.
type callTail struct {
	activity *Activity
	scope    live.Scope
	query    *activityQuery
	names    *Callers
	last     string // id of the newest call on the page
	empty    bool   // the page has no calls, and no place for them
}

// liveCalls renders new calls: those after the last event that the browser
// received, or after the newest call on the page.
func (a *Activity) liveCalls(s live.Scope) (live.Render, error) {
	last, arg, _ := strings.Cut(s.Arg, ":")
	if id, err := uuid.Parse(s.From); err == nil {
		last = id.String()
	}
	q, values, err := a.reread(reach.With(context.Background(), s.Reach), s.Project(), arg)
	if err != nil {
		return nil, err
	}
	q.filter.Since, q.filter.Until = time.Time{}, time.Time{}
	t := &callTail{activity: a, scope: s, query: q, names: NewCallers(a.Keys, a.People), last: last, empty: values.Has(emptyParam) && s.From == ""}
	return t.render, nil
}

func (t *callTail) render(ctx context.Context) ([]live.Part, error) {
	project := t.scope.Project()
	if project == nil || project.Project.ID != t.query.filter.ProjectID {
		return nil, fault.NotFound("project", t.query.slug)
	}
	calls, err := t.activity.Calls.After(ctx, t.query.filter, t.last, liveAtOnce)
	if err != nil || len(calls) == 0 {
		return nil, err
	}
	t.last = calls[0].ID
	if t.empty {
		return t.first(ctx, project)
	}
	var rows []views.ActivityRow
	for _, call := range calls {
		rows = append(rows, rowOf(call, t.query, t.names.Of(ctx, call.Principal)))
	}
	return []live.Part{{ID: "calls", Body: views.ActivityLines(rows), Prepend: liveRows, Event: t.last}}, nil
}

// first replaces the empty page when its first call arrives.
func (t *callTail) first(ctx context.Context, project *toolset.Snapshot) ([]live.Part, error) {
	q, err := t.activity.readQuery(ctx, project, t.query.values())
	if err != nil {
		return nil, err
	}
	p := t.activity.props(project, q)
	if err := t.activity.fill(ctx, &p, project, q, ""); err != nil {
		return nil, err
	}
	p.Live, t.empty = true, false
	return []live.Part{{ID: "activity", Body: views.ActivityFound(p), Event: t.last}}, nil
}
