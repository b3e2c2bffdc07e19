package catalog

import (
	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/routes/frame"
	"mcpgateway/services/catalog"
	"mcpgateway/services/catalog/health"
	"mcpgateway/views/ui"
)

// Checks checks the servers of entries.
type Checks struct {
	store   *catalog.Store
	checker *health.Checker
}

// NewChecks returns the handler.
func NewChecks(store *catalog.Store, checker *health.Checker) *Checks {
	return &Checks{store, checker}
}

// Check serves POST /admin/catalog/:id/check.
func (h *Checks) Check(c *fiber.Ctx) error {
	e, err := h.store.Entry(c.UserContext(), c.Params("id"))
	if err != nil {
		return err
	}
	check, err := h.checker.Check(c.UserContext(), e.ID)
	if err != nil {
		return frame.Failed(c, shownAt(&e), err)
	}
	return frame.Done(c, shownAt(&e), checkWords(check))
}

// checkWords returns the result of a check as a message.
func checkWords(check *models.CatalogCheck) string {
	switch check.State {
	case models.CheckReachable:
		return "The server responds, with " + ui.Plural(len(check.Tools), "open tool", "open tools") + "."
	case models.CheckSignIn:
		return "The server responds and requires sign-in."
	}
	return "The server doesn't respond."
}
