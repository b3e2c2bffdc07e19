package admin

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/access/reach"
	"mcpgateway/services/toolset"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
	"mcpgateway/web/guard"
)

// The project of the side bar outside of projects: the one last visited.
const (
	ProjectCookie    = "project"
	projectCookieAge = 30 * 24 * time.Hour
)

// maxSwitch is the number of projects in the switcher.
const maxSwitch = 8

// Navigation returns the data of the side bar, from memory.
type Navigation struct {
	directory *toolset.Directory
	health    *Health
	waiting   PendingServers
}

// NewNavigation returns the data of the side bar.
func NewNavigation(directory *toolset.Directory, health *Health, waiting PendingServers) *Navigation {
	return &Navigation{directory, health, waiting}
}

// OfRequest returns the side bar of a page outside of projects, for a user with
// the role. Members have none, but maintainers do in the administration.
func (n *Navigation) OfRequest(c *fiber.Ctx, role string) *layout.Nav {
	mine := reach.Of(c.UserContext())
	if role == guard.RoleMember && !(strings.HasPrefix(c.Path(), paths.Home) && mine.Maintains()) {
		return nil
	}
	return n.Of(mine, c.Cookies(ProjectCookie))
}

// Of returns the side bar with the project of the slug, or the only project, among
// those of the reach. It has no project if there are several and none has the
// slug.
func (n *Navigation) Of(mine reach.Reach, slug string) *layout.Nav {
	all := mine.Visible(n.directory.All())
	nav := &layout.Nav{Total: len(all), Reconnect: len(PendingOf(mine, n.directory, n.waiting)), Limited: !mine.SeesAll()}
	slices.SortFunc(all, func(a, b *toolset.Snapshot) int {
		return cmp.Or(cmp.Compare(b2i(b.Project.Slug == slug), b2i(a.Project.Slug == slug)), cmp.Compare(strings.ToLower(a.Project.Name), strings.ToLower(b.Project.Name)), cmp.Compare(a.Project.Slug, b.Project.Slug))
	})
	for _, p := range all[:min(len(all), maxSwitch)] {
		nav.Projects = append(nav.Projects, n.Status(p))
	}
	if len(all) == 1 || len(all) > 1 && all[0].Project.Slug == slug {
		nav.Project = &nav.Projects[0]
		nav.Project.Approve = toApprove(all[0])
	}
	return nav
}

// Status returns the states of a project's servers. Servers that are off don't
// count.
func (n *Navigation) Status(p *toolset.Snapshot) layout.NavProject {
	status := layout.NavProject{Slug: p.Project.Slug, Name: ui.Clean(p.Project.Name)}
	for _, server := range p.Servers {
		state, _ := n.health.StateOf(server)
		if !server.Config.Enabled {
			continue
		}
		status.Servers++
		switch state.Tone {
		case ui.OK:
			status.Up++
		case ui.Bad:
			status.Down++
			status.Tone = "bad"
		case ui.Warn:
			if status.Tone == "" {
				status.Tone = "warn"
			}
		}
	}
	if status.Tone == "" && status.Up > 0 {
		status.Tone = "ok"
	}
	return status
}

// remember stores the project of the side bar outside of projects in a cookie.
func (n *Navigation) remember(c *fiber.Ctx, slug string) {
	if c.Cookies(ProjectCookie) == slug {
		return
	}
	c.Cookie(&fiber.Cookie{
		Name: ProjectCookie, Value: slug, Path: "/", Expires: time.Now().Add(projectCookieAge),
		HTTPOnly: true, Secure: c.Protocol() == "https", SameSite: fiber.CookieSameSiteLaxMode,
	})
}

// toApprove returns the number of a project's tools that wait for approval.
func toApprove(p *toolset.Snapshot) (n int) {
	for _, t := range p.AllTools() {
		if t.Hidden == toolset.HiddenByApproval {
			n++
		}
	}
	return n
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}
