// Package arguments parses the arguments of the built-in tools and rejects
// unknown ones.
package arguments

import (
	"slices"
	"strings"

	"mcpgateway/services/fault"
	"mcpgateway/services/nearest"
	"mcpgateway/services/rawjson"
)

// maxShownName is the maximum length of an unknown name in a message, in
// characters.
const maxShownName = 64

// Read returns the members of raw, the JSON object of a call's arguments,
// without null members: a null argument is absent. Empty raw is an empty object.
// Names are case-sensitive. It returns INVALID_PARAMETER if raw is not an
// object, a name repeats or a name is not in known.
func Read(raw []byte, known ...string) (*rawjson.Object, error) {
	if len(raw) == 0 {
		raw = []byte("{}")
	}
	o, err := rawjson.ParseObject(raw, rawjson.Strict)
	if err != nil {
		return nil, fault.Invalid("Arguments must be a JSON object without duplicate names.").Because(err)
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

// unknown returns the fault for an unknown argument.
func unknown(name string, known []string) error {
	shown := []rune(name)
	if len(shown) > maxShownName {
		shown = append(shown[:maxShownName], '…')
	}
	if near := nearest.Name(name, known); near != "" {
		return fault.Invalid("unknown argument %q, did you mean %q?", string(shown), near)
	}
	return fault.Invalid("unknown argument %q: the arguments are %s", string(shown), strings.Join(known, ", "))
}

// Conflict returns CONFLICTING_PARAMETERS with the message.
func Conflict(message string) error {
	return fault.New(fault.KindInvalid, fault.CodeConflictingParameters, "%s", message)
}
