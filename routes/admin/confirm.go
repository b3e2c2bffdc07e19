package admin

import (
	"time"

	"github.com/gofiber/fiber/v2"
)

// NeedStepUp returns nil while a user's confirmation, which is good until the
// given time, allows changing secrets.
type NeedStepUp func(confirmedUntil time.Time) error

// StepUpGate reports whether a request may change secrets, and otherwise sends
// the response. Implemented by web.Guards.
type StepUpGate interface {
	StepUp(c *fiber.Ctx) (ok bool, err error)
}
