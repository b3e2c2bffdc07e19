package web

import (
	"encoding/hex"

	"github.com/google/uuid"
)

// requestID names a request: a random UUID (RFC 9562, section 5.4), and the
// same without its dashes, which is the id of the trace that begins with it.
type requestID struct{ uuid, trace string }

// newRequestID returns an id that cannot be guessed.
func newRequestID() requestID {
	id := uuid.New()
	return requestID{id.String(), hex.EncodeToString(id[:])}
}
