package page

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"errors"

	"mcpgateway/services/fault"
)

// Sealer encrypts and decrypts opaque tokens. A token can only be opened for
// the purpose it was sealed for. Implemented by *secrets.KeyRing.
type Sealer interface {
	SealToken(purpose string, plain []byte) string
	OpenToken(purpose, token string) ([]byte, error)
}

// Cursors seals and opens the cursors of all searches. It has no state: cursors
// are valid on every replica with the same key and survive restarts.
type Cursors struct {
	sealer Sealer
}

// NewCursors returns Cursors sealed by sealer.
func NewCursors(sealer Sealer) *Cursors { return &Cursors{sealer: sealer} }

// Binding identifies the search of a cursor, which is invalid elsewhere. The
// limit is not part of it, so the pages of a search can differ in size.
type Binding struct {
	Surface   string // a constant such as "registry"; each has its own key
	Scope     string // the project's id, empty for the catalog
	Principal string // caller, empty if results are the same for all
	Query     string // the canonical query
}

// A cursor consists of version, digest of the binding, length of the revision
// (1 byte), revision and position.
const (
	cursorVersion = 1
	digestSize    = 16
	headSize      = 1 + digestSize + 1
)

// Seal returns a cursor for a position at a revision; the surface defines both
// formats. Two cursors for the same position differ. It returns an INTERNAL
// fault if a part is longer than MaxRevision or MaxPosition.
func (c *Cursors) Seal(b Binding, revision, position string) (string, error) {
	if len(revision) > MaxRevision || len(position) > MaxPosition {
		return "", fault.Internal(errors.New("revision or position too long for a cursor"))
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
		return "", fault.Internal(errors.New("seal cursor"))
	}
	return token, nil
}

// Open returns the position of a cursor. It returns INVALID_CURSOR
// (KindInvalid) if the cursor was changed or belongs to another binding, and
// CURSOR_STALE (KindConflict) if it belongs to another revision. Both set
// restart (spec, "Errors"). An empty cursor is invalid: the caller must handle
// its absence.
func (c *Cursors) Open(b Binding, revision, cursor string) (position string, err error) {
	sealed, position, err := c.open(b, cursor)
	if err != nil {
		return "", err
	}
	if sealed != revision {
		f := fault.New(fault.KindConflict, fault.CodeCursorStale, "The results have changed. Search again without the cursor.")
		f.Restart = true
		return "", f
	}
	return position, nil
}

// Revision returns the revision of a cursor, so that a replica can detect that
// it is behind before it rejects the cursor. It returns the INVALID_CURSOR
// fault of Open.
func (c *Cursors) Revision(b Binding, cursor string) (string, error) {
	revision, _, err := c.open(b, cursor)
	return revision, err
}

func (c *Cursors) open(b Binding, cursor string) (revision, position string, err error) {
	if cursor == "" || len(cursor) > MaxCursor {
		return "", "", invalid(nil)
	}
	plain, err := c.sealer.OpenToken(b.purpose(), cursor)
	switch {
	case fault.From(err).Kind == fault.KindInvalid:
		return "", "", invalid(nil)
	case err != nil:
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
	f := fault.New(fault.KindInvalid, fault.CodeInvalidCursor, "Invalid cursor. Send it unchanged with its original query, or search again without it.")
	f.Restart = true
	f.Cause = cause
	return f
}

// purpose separates the surfaces' keys, which limits the tokens sealed per key.
func (b Binding) purpose() string { return "cursor " + b.Surface }

// digest identifies the binding without its surface. Each part is prefixed with
// its length, so that different parts never form the same input.
func (b Binding) digest() [digestSize]byte {
	text := make([]byte, 0, 3*binary.MaxVarintLen64+len(b.Scope)+len(b.Principal)+len(b.Query))
	for _, part := range [...]string{b.Scope, b.Principal, b.Query} {
		text = binary.AppendUvarint(text, uint64(len(part)))
		text = append(text, part...)
	}
	sum := sha256.Sum256(text)
	return [digestSize]byte(sum[:digestSize])
}
