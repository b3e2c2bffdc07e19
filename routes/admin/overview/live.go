package overview

import (
	"context"
	"strings"
	"time"

	"mcpgateway/routes/admin/live"
	views "mcpgateway/views/admin/overview"
	"mcpgateway/web/guard"
)

// liveTopic is the name of the page's live topic. Its argument is the period and,
// if the setup is hidden, setupHidden, separated by a comma.
const liveTopic = "overview"

// topic returns the live topic of the page.
func (v *view) topic() string {
	if v.hidden {
		return liveTopic + ":" + v.period + "," + setupHidden
	}
	return liveTopic + ":" + v.period
}

// Topics returns the live topic of the overview: states, attention and calls
// every second, numbers every five seconds.
func (o *Overview) Topics() []live.Topic {
	return []live.Topic{{Name: liveTopic, Every: time.Second, Open: o.open}}
}

func (o *Overview) open(s live.Scope) (live.Render, error) {
	period, hidden, _ := strings.Cut(s.Arg, ",")
	v := &view{period: periodOf(period), hidden: hidden == setupHidden, admin: s.Admin(), limited: !s.Reach.SeesAll()}
	if v.admin {
		v.csrf = guard.MaskToken(s.Person.CSRF)
	}
	return func(ctx context.Context) ([]live.Part, error) {
		p := s.Project()
		if p == nil {
			return nil, nil
		}
		parts, err := o.parts(ctx, p, v)
		if err != nil {
			return nil, err
		}
		return []live.Part{
			{ID: "overview-status", Body: views.ServerStatus(parts.Status)},
			{ID: "overview-setup", Body: views.SetupSteps(parts.Setup)},
			{ID: "overview-numbers", Body: views.Stats(parts.Numbers)},
			{ID: "overview-traffic", Body: views.TrafficPicture(parts.Traffic)},
			{ID: "overview-attention", Body: views.NeedsAttention(parts.Attention)},
			{ID: "overview-tools", Body: views.BusyTools(parts.Lists)},
			{ID: "overview-calls", Body: views.RecentCalls(parts.Lists)},
		}, nil
	}, nil
}
