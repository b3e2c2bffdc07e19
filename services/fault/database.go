package fault

import (
	"database/sql/driver"
	"errors"
	"strings"
	"time"
)

// retryDatabase is the time after which a client may ask a database again that
// could not be reached.
const retryDatabase = time.Second

// sqlState is implemented by the errors of databases that carry a SQLSTATE code
// (ISO 9075).
type sqlState interface {
	error
	SQLState() string
}

// ofDatabase returns the fault for an error of the database that is not the
// fault of the program, or nil.
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
		return New(KindStorageFull, CodeStorageFull, "The disk of the database is full. Nothing was changed. Free some space; until then only revoking, disabling and deleting work.").Because(err)
	}
	return nil
}
