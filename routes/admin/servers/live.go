package servers

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"mcpgateway/routes/admin"
	"mcpgateway/routes/admin/live"
	"mcpgateway/services/toolset"
	shared "mcpgateway/views/admin"
	views "mcpgateway/views/admin/servers"
	"mcpgateway/views/layout"
)

// listTopic is the live topic of the list. Its argument holds the query and the state
// of the page as URL parameters.
const listTopic = "servers"

// numbersEvery is the number of renderings of a server's state per rendering of its
// numbers.
const numbersEvery = 5

// processEvery is the number of renderings of a program's state per request for
// its output.
const processEvery = 2

// Topics returns the live topics of the list and of the page of a server, whose
// argument is the server's id.
func (a *Servers) Topics() []live.Topic {
	return []live.Topic{
		{Name: listTopic, Every: 2 * time.Second, Open: a.openList},
		{Name: views.Topic, Every: time.Second, Open: a.openServer},
	}
}

func (a *Servers) openList(s live.Scope) (live.Render, error) {
	values, err := url.ParseQuery(s.Arg)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) ([]live.Part, error) {
		p := s.Project()
		if p == nil {
			return nil, nil
		}
		props := views.ListProps{Query: values.Get("query"), State: values.Get("state"), Frame: layout.Frame{Person: &layout.Person{Role: s.Person.Role}, Controls: s.Admin()}}
		if err := a.fill(ctx, &props, p); err != nil || len(props.Rows) == 0 {
			return nil, err
		}
		return []live.Part{{ID: views.ListPart, Body: views.Table(props)}}, nil
	}, nil
}

func (a *Servers) openServer(s live.Scope) (live.Render, error) {
	page := &serverPage{servers: a, admin: s.Admin()}
	return func(ctx context.Context) ([]live.Part, error) {
		p := s.Project()
		if p == nil {
			return nil, nil
		}
		server, err := admin.ServerOf(p, s.Arg)
		if err != nil {
			return nil, nil //nolint:nilerr // a deleted server has no parts
		}
		return page.render(ctx, p, server)
	}, nil
}

// serverPage is an open page of a server.
type serverPage struct {
	servers *Servers
	admin   bool
	round   int
	shown   views.ServerProps // as rendered last
}

// render returns the parts that have changed. The numbers change more slowly than
// the state, and the error box is replaced only for another error, because screen
// readers read it out.
func (l *serverPage) render(ctx context.Context, p *toolset.Snapshot, server *toolset.Server) ([]live.Part, error) {
	now := time.Now()
	before, row := l.shown, l.servers.row(p, server, nil, now)
	l.round++
	if l.round%numbersEvery != 1 && summary(row) == summary(before.Row) {
		l.shown.Now, l.shown.Outage, l.shown.Row.State = now, l.servers.outage(server), row.State
		if l.shown.Process != nil && l.round%processEvery == 0 {
			l.shown.Process = l.servers.processOf(ctx, server, row)
		}
		return l.stateParts(), nil
	}
	var err error
	if l.shown, err = l.servers.serverProps(ctx, p, server); err != nil {
		return nil, err
	}
	l.shown.Controls = l.admin
	parts := append(l.stateParts(), live.Part{ID: views.NumbersPart, Body: views.NumbersRow(l.shown)}, live.Part{ID: views.LogPart, Body: views.LogRow(l.shown)})
	if summary(l.shown.Row) != summary(before.Row) {
		parts = append([]live.Part{{ID: views.OutagePart, Body: views.OutageBox(l.shown)}}, parts...)
	}
	return parts, nil
}

// stateParts returns the parts that show since when the server doesn't work, and when
// it is tried next.
func (l *serverPage) stateParts() []live.Part {
	parts := []live.Part{{ID: views.BadgePart, Body: views.Badge(l.shown.Head)}}
	if l.shown.Process != nil {
		return append(parts, live.Part{ID: views.ProcessPart, Body: views.ProcessRow(l.shown)})
	}
	if l.admin && l.shown.Row.State.Kind == shared.StateDown {
		parts = append(parts, live.Part{ID: views.NextPart, Body: views.Next(l.shown)})
	}
	return parts
}

// summary returns what the error box is about.
func summary(row views.Row) string {
	if row.Failure == nil || !row.Enabled {
		return fmt.Sprint(row.ID, row.Enabled)
	}
	return fmt.Sprint(row.ID, row.State.Kind, row.Failure.Title, row.Known)
}
