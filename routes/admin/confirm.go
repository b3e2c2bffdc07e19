package admin

import (
	"net/url"
	"time"

	"github.com/gofiber/fiber/v2"
)

// NeedStepUp returns nil while a user's confirmation, which is good until the
// given time, allows changing secrets.
type NeedStepUp func(confirmedUntil time.Time) error

// StepUpGate reports whether a request may change secrets, and otherwise sends
// the response. Implemented by guard.Guards.
type StepUpGate interface {
	StepUp(c *fiber.Ctx) (ok bool, err error)
}

// projectPath returns the address of a project's first page.
func projectPath(slug string) string { return "/admin/projects/" + url.PathEscape(slug) }

// serversPath returns the address of a project's servers.
func serversPath(slug string) string { return projectPath(slug) + "/servers" }

// serverPath returns the address of a server.
func serverPath(slug, id string) string { return serversPath(slug) + "/" + url.PathEscape(id) }
