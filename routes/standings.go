package routes

import (
	"strings"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/services"
	"mcpgateway/services/access/reach"
	"mcpgateway/services/fault"
	"mcpgateway/web/guard"
)

// standings decides what the maintainers of single projects may do on a route.
type standings struct{ s *services.Services }

// of returns the standing of a signed-in user on the route of a request. missing
// is NOT_FOUND for a project that a maintainer may not see, and for one that
// doesn't exist.
func (d standings) of(c *fiber.Ctx, p *guard.User) (standing guard.Standing, missing error) {
	mine := reach.OfPerson(p.ID, models.Role(p.Role), d.s.Rights)
	if !mine.Maintains() {
		return guard.Outsider, nil
	}
	thing, id := thingOf(c)
	if thing == "" {
		return guard.Somewhere, nil
	}
	project, err := d.project(c, thing, id)
	switch {
	case err != nil && !fault.Is(err, fault.CodeNotFound):
		return guard.Outsider, err
	case err == nil && mine.Administers(project):
		return guard.Maintainer, nil
	case mine.SeesAll():
		return guard.Elsewhere, nil
	default:
		return guard.Elsewhere, fault.NotFound(thing, id)
	}
}

// thingOf returns what the route names in its project: the project, a server, a
// key or a connector. It is empty for routes of the whole gateway.
func thingOf(c *fiber.Ctx) (thing, id string) {
	if slug := c.Params("projectSlug"); slug != "" {
		return "project", slug
	}
	for prefix, thing := range map[string]string{"/api/servers/:id": "server", "/admin/connections/:id": "server", "/api/keys/:id": "key", "/api/connectors/:id": "connector"} {
		if pattern := c.Route().Path; pattern == prefix || strings.HasPrefix(pattern, prefix+"/") {
			return thing, c.Params("id")
		}
	}
	return "", ""
}

// project returns the project of a thing, or NOT_FOUND.
func (d standings) project(c *fiber.Ctx, thing, id string) (*models.Project, error) {
	ctx, owner := c.UserContext(), ""
	switch thing {
	case "project":
		snapshot, err := d.s.Directory.Project(id)
		if err != nil {
			return nil, err
		}
		return &snapshot.Project, nil
	case "server":
		row, err := d.s.Projects.Server(ctx, id)
		if err != nil {
			return nil, err
		}
		owner = row.ProjectID
	case "key":
		row, err := d.s.Keys.Get(ctx, id)
		if err != nil {
			return nil, err
		}
		owner = row.ProjectID
	case "connector":
		row, err := d.s.Connectors.Get(ctx, id)
		if err != nil {
			return nil, err
		}
		owner = row.ProjectID
	}
	project, err := d.s.Projects.ProjectByID(ctx, owner)
	return &project, err
}
