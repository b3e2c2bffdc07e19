// Package secrets protects credentials: sealed in the database, typed in memory
// so that they print as [redacted], and referenced by name when they are in the
// environment.
package secrets

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"log/slog"
)

// Redacted is the text that every secret prints as.
const Redacted = "[redacted]"

// Placeholder replaces a secret in exports and displayed URLs. As an entered
// value it means the secret that is already stored.
const Placeholder = "[secret]"

// Value is a cleartext secret. It prints as [redacted] wherever values are
// formatted, logged or encoded, and can't be written to a database. Only Reveal
// returns the text. The zero Value is empty.
type Value struct {
	// A pointer, because fmt calls no methods on unexported fields: a Value in
	// such a field prints as an address.
	text *string
}

// NewValue returns text as a secret.
func NewValue(text string) Value {
	if text == "" {
		return Value{}
	}
	return Value{text: &text}
}

// Reveal returns the cleartext. Call it only where the secret leaves the
// process, such as in a request header.
func (v Value) Reveal() string {
	if v.text == nil {
		return ""
	}
	return *v.text
}

// IsZero reports whether the secret is empty.
func (v Value) IsZero() bool { return v.text == nil }

// String returns [redacted].
func (Value) String() string { return Redacted }

// GoString returns [redacted].
func (Value) GoString() string { return Redacted }

// Format writes [redacted] for every verb and flag.
func (Value) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, Redacted) }

// LogValue returns [redacted].
func (Value) LogValue() slog.Value { return slog.StringValue(Redacted) }

// MarshalText returns [redacted].
func (Value) MarshalText() ([]byte, error) { return []byte(Redacted), nil }

// MarshalJSON returns "[redacted]".
func (Value) MarshalJSON() ([]byte, error) { return []byte(`"` + Redacted + `"`), nil }

// MarshalBinary returns [redacted].
func (Value) MarshalBinary() ([]byte, error) { return []byte(Redacted), nil }

// GobEncode returns [redacted].
func (Value) GobEncode() ([]byte, error) { return []byte(Redacted), nil }

// Value always returns an error: secrets must be sealed before they are stored.
func (Value) Value() (driver.Value, error) {
	return nil, errors.New("store a cleartext secret: seal it first")
}
