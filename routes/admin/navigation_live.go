package admin

import (
	"context"
	"strings"
	"time"

	"mcpgateway/routes/admin/live"
	"mcpgateway/views/layout"
)

// Topics returns the live topic of the side bar. Its argument is the tab and the
// section of the page, separated by a comma.
func (n *Navigation) Topics() []live.Topic {
	return []live.Topic{{Name: layout.NavTopic, Every: time.Second, Open: n.open}}
}

func (n *Navigation) open(s live.Scope) (live.Render, error) {
	tab, section, _ := strings.Cut(s.Arg, ",")
	return func(context.Context) ([]live.Part, error) {
		slug := ""
		if p := s.Project(); p != nil {
			slug = p.Project.Slug
			n.health.Syncer.Attend(p)
		}
		nav := n.Of(s.Reach, slug)
		parts := []live.Part{{ID: "nav-gateway", Body: layout.GatewayNav(*nav, layout.Section(section))}}
		if nav.Project != nil {
			parts = append(parts, live.Part{ID: "nav-project", Body: layout.ProjectNav(*nav, layout.ProjectTab(tab))},
				live.Part{ID: "switch-name", Body: layout.NavStatus("switch-name", *nav.Project)})
		}
		return parts, nil
	}, nil
}
