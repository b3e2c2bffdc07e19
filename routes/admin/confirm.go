package admin

import (
	"net/url"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/web"
)

// NeedStepUp returns nil for somebody who proved lately who they are.
type NeedStepUp func(authenticatedAt time.Time) error

// confirmAt returns where the person has to prove who they are before a form
// of the page next is filled in; it is empty when that is not needed.
func (need NeedStepUp) confirmAt(c *fiber.Ctx, next string) string {
	if p := web.PersonOf(c); p == nil || need(p.AuthenticatedAt) == nil {
		return ""
	}
	return StepUpPath(next)
}

// projectPath returns the address of a project's first page.
func projectPath(slug string) string { return "/admin/projects/" + url.PathEscape(slug) }

// serversPath returns the address of a project's servers.
func serversPath(slug string) string { return projectPath(slug) + "/servers" }

// serverPath returns the address of a server.
func serverPath(slug, id string) string { return serversPath(slug) + "/" + url.PathEscape(id) }
