package admin

import (
	"time"
)

// NeedStepUp returns nil while a user's confirmation, which is good until the
// given time, allows changing secrets.
type NeedStepUp func(confirmedUntil time.Time) error

