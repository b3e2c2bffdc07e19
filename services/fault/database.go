package fault

import (
	"database/sql/driver"
	"errors"
	"strings"
	"time"
)

// retryDatabase is the Retry-After of an unreachable database.
const retryDatabase = time.Second

// sqlState is implemented by database errors with a SQLSTATE code (ISO 9075).
type sqlState interface {
	error
	SQLState() string
}

// ofDatabase returns the fault for a database that is unreachable or full, or
// nil for other errors.
func ofDatabase(err error) *Fault {
	state := ""
	var coded sqlState
	if errors.As(err, &coded) {
		state = coded.SQLState()
	}
	switch {
	case strings.HasPrefix(state, "08"), state == "57P01", state == "57P02", state == "57P03", errors.Is(err, driver.ErrBadConn):
		f := New(KindUnavailable, CodeUnavailable, "The database can't be reached. Retry shortly.").Because(err)
		f.RetryAfter = retryDatabase
		return f
	case state == "53100":
		return New(KindStorageFull, CodeStorageFull, "The disk of the database is full. Nothing was changed. Until space is freed, only revoking, disabling and deleting work.").Because(err)
	}
	return nil
}
