package guard

import (
	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/fault"
	"mcpgateway/web"
)

// Standing holds the rights of a user on a route by grants, in addition to the
// role.
type Standing int

// The standings. Somewhere is that of a maintainer on a route without a project.
const (
	Outsider   Standing = iota // maintains no project
	Elsewhere                  // maintains others than the route's project
	Somewhere                  // maintains projects, and the route names none
	Maintainer                 // maintains the route's project
)

// noStanding is more than any grant gives.
const noStanding = Maintainer + 1

// ProjectViewer admits as Viewer, and the maintainers of the project that the
// route names.
func (g *Guards) ProjectViewer() []fiber.Handler {
	return []fiber.Handler{g.identify, g.require(Maintainer, RoleAdmin, RoleViewer), g.checkForgery}
}

// ProjectAdmin admits as Admin, and the maintainers of the project that the route
// names.
func (g *Guards) ProjectAdmin() []fiber.Handler {
	return []fiber.Handler{g.identify, g.require(Maintainer, RoleAdmin), g.checkForgery}
}

// SomeViewer admits as Viewer, and the maintainers of any project. Handlers
// leave out what others' projects contain.
func (g *Guards) SomeViewer() []fiber.Handler {
	return []fiber.Handler{g.identify, g.require(Somewhere, RoleAdmin, RoleViewer), g.checkForgery}
}

// SomeAdmin admits as Admin, and the maintainers of any project. Handlers
// check which one is changed.
func (g *Guards) SomeAdmin() []fiber.Handler {
	return []fiber.Handler{g.identify, g.require(Somewhere, RoleAdmin), g.checkForgery}
}

// admitStanding continues for a user with at least the standing. It returns
// FORBIDDEN for others, and for a project that the user may not see the fault of
// one that doesn't exist.
func (g *Guards) admitStanding(c *fiber.Ctx, p *User, least Standing) error {
	standing, missing := Outsider, error(nil)
	if g.options.Standing != nil {
		standing, missing = g.options.Standing(c, p)
	}
	switch {
	case missing != nil:
		return missing
	case standing >= least:
		return c.Next()
	}
	if g.options.Denied != nil {
		g.options.Denied(c.UserContext(), c.Method()+" "+web.EventOf(c).Route, p.Role)
	}
	if standing != Outsider && p.Role == RoleMember {
		return fault.Forbidden("Maintainers can't do this. Ask an administrator.")
	}
	return forbiddenRole(p.Role)
}

// forbiddenRole returns the fault for a user whose role doesn't allow a route.
func forbiddenRole(role string) error {
	if role == RoleViewer {
		return fault.Forbidden("Viewers can look, not change. Ask an administrator.")
	}
	return fault.Forbidden("Members can't use this page. Ask an administrator.")
}
