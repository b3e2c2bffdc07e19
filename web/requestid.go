package web

import (
	"encoding/hex"

	"github.com/google/uuid"
)

// requestID is a random UUID (RFC 9562, section 5.4), and the same without
// dashes, which is the ID of a trace that starts with the request.
type requestID struct{ uuid, trace string }

// newRequestID returns a cryptographically random ID.
func newRequestID() requestID {
	id := uuid.New()
	return requestID{id.String(), hex.EncodeToString(id[:])}
}
