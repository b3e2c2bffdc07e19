package models

import (
	"bytes"
	"database/sql/driver"
	"encoding/json"
)

// ToolOverrides are the changes that administrators made to the tools of a
// server, by the server's own tool names. They are one text column with a JSON
// object, as in the declarative file. No overrides are stored as "{}".
type ToolOverrides map[string]ToolOverride

// ToolOverride changes what clients see of a tool and what the server receives.
// An empty member changes nothing.
type ToolOverride struct {
	As          string          `json:"as,omitempty"` // exported name, after the alias
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description,omitempty"`
	Annotations ToolAnnotations `json:"annotations,omitzero"`
	// Defaults are arguments for calls without them. Fixed are arguments that
	// every call has and no client can send. Both are compact JSON, in which
	// strings of the form `${NAME}` are references. Nothing in them is sealed.
	Defaults map[string]json.RawMessage `json:"defaults,omitempty"`
	Fixed    map[string]json.RawMessage `json:"fixed,omitempty"`
}

// ToolAnnotations replace annotations of a tool. A nil hint is the server's.
type ToolAnnotations struct {
	ReadOnlyHint    *bool `json:"readOnlyHint,omitempty"`
	DestructiveHint *bool `json:"destructiveHint,omitempty"`
	IdempotentHint  *bool `json:"idempotentHint,omitempty"`
	OpenWorldHint   *bool `json:"openWorldHint,omitempty"`
}

// JSON returns the override as a compact JSON object with sorted names.
func (o ToolOverride) JSON() []byte { return compactJSON(o) }

// JSON returns the overrides as a compact JSON object with sorted names.
func (o ToolOverrides) JSON() []byte {
	if len(o) == 0 {
		return []byte("{}")
	}
	return compactJSON(map[string]ToolOverride(o))
}

// compactJSON returns v as JSON in which raw values keep their bytes. v is made
// of strings, booleans and valid JSON, which always encode.
func compactJSON(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// Value returns the overrides as JSON text.
func (o ToolOverrides) Value() (driver.Value, error) { return string(o.JSON()), nil }

// Scan sets the overrides from JSON text, without overrides to nil.
func (o *ToolOverrides) Scan(src any) error {
	var read map[string]ToolOverride
	if err := scanJSON(src, &read); err != nil {
		return err
	}
	*o = nil
	if len(read) > 0 {
		*o = read
	}
	return nil
}

// GormDataType returns the column type for GORM.
func (ToolOverrides) GormDataType() string { return "text" }
