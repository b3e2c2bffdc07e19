package resume

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"time"

	"mcpgateway/services/fault"
	"mcpgateway/services/secrets"
)

// purpose distinguishes event ids from other sealed tokens.
const purpose = "mcp stream event"

// MaxRequestID is the maximum size in bytes of the raw id of a request whose
// stream can be resumed. Event ids contain it and are sent in a header.
const MaxRequestID = 256

// positionSize is the size in bytes of a position without the request id.
const positionSize = 16 + 16 + 4 + 8 + 1

// Position is a position in a stream. Its token is the id of the event before
// it.
type Position struct {
	stream   [16]byte
	session  [16]byte // hash of the session's key
	sequence uint32
	until    time.Time // the call's time-out
	last     bool      // nothing follows
	request  []byte    // raw id
}

// RequestID returns the raw id of the stream's request.
func (p *Position) RequestID() []byte { return p.request }

// IsLast reports whether the client has received the whole stream.
func (p *Position) IsLast() bool { return p.last }

// at returns the position after the event with the sequence number.
func (p Position) at(sequence uint32, last bool) *Position {
	p.sequence, p.last = sequence, last
	return &p
}

// token returns the position as an event id. Ids of a stream have the same
// length.
func (p *Position) token(keys *secrets.KeyRing) string {
	b := make([]byte, 0, positionSize+len(p.request))
	b = append(append(b, p.stream[:]...), p.session[:]...)
	b = binary.BigEndian.AppendUint32(b, p.sequence)
	b = binary.BigEndian.AppendUint64(b, uint64(p.until.UnixMilli()))
	flag := byte(0)
	if p.last {
		flag = 1
	}
	return keys.SealToken(purpose, append(append(b, flag), p.request...))
}

// parsePosition returns the position in an event id. It returns
// INVALID_PARAMETER for an id that was not created for the session.
func parsePosition(keys *secrets.KeyRing, token, session string) (*Position, error) {
	b, err := keys.OpenToken(purpose, token)
	if err != nil || len(b) < positionSize {
		return nil, errPosition()
	}
	p := &Position{request: b[positionSize:], last: b[positionSize-1] == 1}
	copy(p.stream[:], b)
	copy(p.session[:], b[16:])
	p.sequence = binary.BigEndian.Uint32(b[32:])
	p.until = time.UnixMilli(int64(binary.BigEndian.Uint64(b[36:])))
	if owner := hashOf(session); !bytes.Equal(owner[:], p.session[:]) {
		return nil, errPosition()
	}
	return p, nil
}

func errPosition() error {
	return fault.Invalid("Last-Event-ID isn't an event of this session. Send the request again.")
}

// row identifies the request in the store of finished results. It is not a
// credential.
func (p *Position) row() string {
	sum := sha256.Sum256(append(append(p.stream[:], p.session[:]...), p.request...))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

func hashOf(session string) (hash [16]byte) {
	sum := sha256.Sum256([]byte(session))
	copy(hash[:], sum[:])
	return hash
}
