package page

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"errors"

	"mcpgateway/services/fault"
)

// Sealer makes opaque tokens and opens them again; *secrets.KeyRing is one. A
// token opens only for the purpose that it was sealed for.
type Sealer interface {
	SealToken(purpose string, plain []byte) string
	OpenToken(purpose, token string) ([]byte, error)
}

// Cursors makes and opens the cursors of all searches. It keeps nothing: a
// cursor works on every replica that has the key, before and after a restart.
type Cursors struct {
	sealer Sealer
}

// NewCursors returns cursors that sealer seals.
func NewCursors(sealer Sealer) *Cursors { return &Cursors{sealer: sealer} }

// Binding is what a cursor belongs to; it leads on in nothing else. The limit
// is not part of it, so pages of one search may differ in length.
type Binding struct {
	Surface   string // a constant such as "registry"; each has a key of its own
	Scope     string // the project's id, empty for the catalog
	Principal string // who searches, empty where everyone sees the same
	Query     string // the canonical query
}

// A cursor is version, digest of the binding, length of the revision (one
// byte), revision, position.
const (
	cursorVersion = 1
	digestSize    = 16
	headSize      = 1 + digestSize + 1
)

// Seal returns the cursor of position at a revision, both in a form that the
// surface chooses. Two cursors of one position differ. It returns an INTERNAL
// fault when a part is longer than MaxRevision or MaxPosition.
func (c *Cursors) Seal(b Binding, revision, position string) (string, error) {
	if len(revision) > MaxRevision || len(position) > MaxPosition {
		return "", fault.Internal(errors.New("a revision or position is too long for a cursor"))
	}
	digest := b.digest()
	plain := make([]byte, 0, headSize+len(revision)+len(position))
	plain = append(plain, cursorVersion)
	plain = append(plain, digest[:]...)
	plain = append(plain, byte(len(revision)))
	plain = append(plain, revision...)
	plain = append(plain, position...)
	token := c.sealer.SealToken(b.purpose(), plain)
	if token == "" {
		return "", fault.Internal(errors.New("the cursor could not be sealed"))
	}
	return token, nil
}

// Open returns the position of a cursor. It returns an INVALID_CURSOR fault
// (KindInvalid) when the cursor was not sealed for the binding or was changed,
// and a CURSOR_STALE fault (KindConflict) when it is of another revision; both
// say restart (spec, "Errors"). An empty cursor is invalid: the caller knows
// whether one was given.
func (c *Cursors) Open(b Binding, revision, cursor string) (position string, err error) {
	sealed, position, err := c.open(b, cursor)
	if err != nil {
		return "", err
	}
	if sealed != revision {
		f := fault.New(fault.KindConflict, fault.CodeCursorStale, "what is searched has changed since the cursor was made; repeat the search without the cursor")
		f.Restart = true
		return "", f
	}
	return position, nil
}

// Revision returns the revision that a cursor is of, so that a replica can
// find out that it lags behind before it calls the cursor stale. It returns
// the INVALID_CURSOR fault that Open returns.
func (c *Cursors) Revision(b Binding, cursor string) (string, error) {
	revision, _, err := c.open(b, cursor)
	return revision, err
}

func (c *Cursors) open(b Binding, cursor string) (revision, position string, err error) {
	if cursor == "" || len(cursor) > MaxCursor {
		return "", "", invalid(nil)
	}
	plain, err := c.sealer.OpenToken(b.purpose(), cursor)
	if err != nil {
		return "", "", invalid(err)
	}
	if len(plain) < headSize || plain[0] != cursorVersion {
		return "", "", invalid(nil)
	}
	digest := b.digest()
	end := headSize + int(plain[headSize-1])
	if subtle.ConstantTimeCompare(plain[1:1+digestSize], digest[:]) != 1 || len(plain) < end {
		return "", "", invalid(nil)
	}
	return string(plain[headSize:end]), string(plain[end:]), nil
}

func invalid(cause error) error {
	f := fault.New(fault.KindInvalid, fault.CodeInvalidCursor, "the cursor does not belong to this search; send it unchanged with the query that it came with, or repeat the search without it")
	f.Restart = true
	f.Cause = cause
	return f
}

// purpose keeps the surfaces' keys apart, so that none seals too many tokens.
func (b Binding) purpose() string { return "cursor " + b.Surface }

// digest identifies the binding without its surface. Each part comes behind
// its length, so that different parts never make the same text.
func (b Binding) digest() [digestSize]byte {
	text := make([]byte, 0, 3*binary.MaxVarintLen64+len(b.Scope)+len(b.Principal)+len(b.Query))
	for _, part := range [...]string{b.Scope, b.Principal, b.Query} {
		text = binary.AppendUvarint(text, uint64(len(part)))
		text = append(text, part...)
	}
	sum := sha256.Sum256(text)
	return [digestSize]byte(sum[:digestSize])
}
