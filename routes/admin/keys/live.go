package keys

import (
	"context"
	"time"

	"mcpgateway/routes/admin/live"
	"mcpgateway/services/fault"
	views "mcpgateway/views/admin/keys"
)

// topicName is the live topic of the first requests of a key; its argument is the
// ID of the key.
const topicName = "key"

// storedEvery is the time between reads of the database, for clients that use
// another replica.
const storedEvery = 3 * time.Second

// Topics returns the live topics of the key pages.
func (a *Keys) Topics() []live.Topic {
	return []live.Topic{{Name: topicName, Every: time.Second, Open: a.open}}
}

// open starts the topic for a page.
func (a *Keys) open(s live.Scope) (live.Render, error) {
	if s.Project() == nil {
		return nil, fault.NotFound("key", s.Arg)
	}
	row, err := a.Keys.Get(context.Background(), s.Arg)
	if err != nil || row.ProjectID != s.Project().Project.ID {
		return nil, fault.NotFound("key", s.Arg)
	}
	var last views.FirstUse
	var read time.Time
	return func(ctx context.Context) ([]live.Part, error) {
		project := s.Project()
		if project == nil || !last.CallTool.At.IsZero() {
			return nil, nil // nothing changes any more
		}
		u := a.localUse(project, row)
		if u.CallTool.At.IsZero() && a.Now().Sub(read) >= storedEvery {
			read = a.Now()
			if u, err = a.firstUse(ctx, project, row.ID); err != nil {
				return nil, err
			}
		} else if u.Initialize.At.IsZero() {
			u.Initialize = last.Initialize
		}
		last = u
		return []live.Part{{ID: views.FirstUsePart, Body: views.FirstUseCard(u)}}, nil
	}, nil
}
