// Package secrets keeps credentials unreadable: sealed in the database, typed
// in memory so that they print as [redacted], and named instead of stored when
// they come from the environment.
package secrets

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"log/slog"
)

// Redacted is what every secret prints as.
const Redacted = "[redacted]"

// Placeholder stands for a secret in exports and in addresses that are shown.
// As a value that is entered it means the secret that is stored already.
const Placeholder = "[secret]"

// Value is a secret in plain text. It prints as [redacted] wherever values
// are formatted, logged or encoded, and cannot be written to a database. Only
// Reveal returns the text. The zero Value is empty.
type Value struct {
	// A pointer, because fmt calls no methods on unexported fields: a Value
	// inside such a field prints as an address.
	text *string
}

// NewValue returns text as a secret.
func NewValue(text string) Value {
	if text == "" {
		return Value{}
	}
	return Value{text: &text}
}

// Reveal returns the plain text. Call it where the secret leaves the process,
// such as into a request header, and nowhere before.
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

// MarshalText returns [redacted]; it serves encoders of every text form.
func (Value) MarshalText() ([]byte, error) { return []byte(Redacted), nil }

// MarshalJSON returns "[redacted]".
func (Value) MarshalJSON() ([]byte, error) { return []byte(`"` + Redacted + `"`), nil }

// MarshalBinary returns [redacted].
func (Value) MarshalBinary() ([]byte, error) { return []byte(Redacted), nil }

// GobEncode returns [redacted].
func (Value) GobEncode() ([]byte, error) { return []byte(Redacted), nil }

// Value always returns an error: a secret is sealed before it is stored.
func (Value) Value() (driver.Value, error) {
	return nil, errors.New("a secret in plain text must not be stored; seal it first")
}
