// Package arguments reads the arguments of the built-in tools and rejects those
// that a tool doesn't have.
package arguments

import (
	"slices"
	"strings"

	"mcpgateway/services/fault"
	"mcpgateway/services/nearest"
	"mcpgateway/services/rawjson"
)

// maxShownName is the length at which an unknown name is cut in a message, in
// characters.
const maxShownName = 64

// Read returns the members of raw, the JSON object of a call's arguments,
// without those that are null: a null argument is an absent one. Empty raw is
// an empty object. Names are case-sensitive. Read returns INVALID_PARAMETER if
// raw isn't an object, if a name repeats, and if a name isn't one of known.
func Read(raw []byte, known ...string) (*rawjson.Object, error) {
	if len(raw) == 0 {
		raw = []byte("{}")
	}
	o, err := rawjson.ParseObject(raw, rawjson.Strict)
	if err != nil {
		return nil, fault.Invalid("arguments must be a JSON object in which no name repeats").Because(err)
	}
	for _, name := range o.Names() {
		if !slices.Contains(known, name) {
			return nil, unknown(name, known)
		}
		if rawjson.Kind(o.Get(name)) == 'n' {
			o.Delete(name)
		}
	}
	return o, nil
}

// unknown returns the fault for an argument that a tool doesn't have.
func unknown(name string, known []string) error {
	shown := []rune(name)
	if len(shown) > maxShownName {
		shown = append(shown[:maxShownName], '…')
	}
	if near := nearest.Name(name, known); near != "" {
		return fault.Invalid("unknown argument %q, did you mean %q?", string(shown), near)
	}
	return fault.Invalid("unknown argument %q; the arguments are %s", string(shown), strings.Join(known, ", "))
}

// Conflict returns CONFLICTING_PARAMETERS with the message.
func Conflict(message string) error {
	return fault.New(fault.KindInvalid, fault.CodeConflictingParameters, "%s", message)
}
