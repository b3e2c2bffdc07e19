package catalog

import (
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/services/catalog/health"
)

// Checks serves the checks of servers.
type Checks struct {
	checker *health.Checker
}

// NewChecks returns the handler.
func NewChecks(checker *health.Checker) *Checks { return &Checks{checker} }

// checkRecord is the result of a check in responses.
type checkRecord struct {
	ID           string            `json:"id"`
	CheckedAt    time.Time         `json:"checkedAt"`
	State        models.CheckState `json:"state"`
	Revision     *string           `json:"revision"`
	Message      *string           `json:"message"`
	FailingSince *time.Time        `json:"failingSince"`
	Tools        []toolRecord      `json:"tools"`
}

// toolRecord is an open tool in responses.
type toolRecord struct {
	Name       string   `json:"name"`
	ReadOnly   *bool    `json:"readOnly"`
	Parameters []string `json:"parameters"`
	Tokens     int      `json:"tokens"`
}

// Check serves POST /api/catalog/rows/:id/check: it checks the server of a row
// without credentials and responds with the result.
func (s *Checks) Check(c *fiber.Ctx) error {
	check, err := s.checker.Check(c.UserContext(), c.Params("id"))
	if err != nil {
		return err
	}
	record := checkRecord{
		ID: check.EntryID, CheckedAt: check.CheckedAt.UTC(), State: check.State, Revision: optional(check.Revision), Message: optional(check.Message),
		FailingSince: check.FailingSince, Tools: make([]toolRecord, len(check.Tools)),
	}
	for i, t := range check.Tools {
		record.Tools[i] = toolRecord{Name: t.Name, ReadOnly: t.ReadOnly, Parameters: append([]string{}, t.Parameters...), Tokens: t.Tokens}
	}
	return c.JSON(record)
}

func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
