// Package shim stands between a conformance suite, which knows the bare names
// of an upstream's tools and prompts, and the gateway, which serves them as
// alias__name. It renames what has to be renamed and passes everything else.
package shim

import (
	"errors"
	"strings"
)

const separator = "__"

// Names maps the bare names of one server's tools and prompts to those that
// the gateway exports, and back.
type Names struct{ prefix string }

// NewNames returns the mapping for the server with the alias. It returns an
// error for an alias that the gateway could not have either.
func NewNames(alias string) (Names, error) {
	if alias == "" || strings.Contains(alias, separator) {
		return Names{}, errors.New("the alias must not be empty and must not hold two underscores in a row")
	}
	return Names{prefix: alias + separator}, nil
}

// Exported returns the gateway's name for a bare one.
func (n Names) Exported(bare string) string { return n.prefix + bare }

// Bare returns the upstream's own name; false for a name of another server or
// of the gateway itself.
func (n Names) Bare(exported string) (string, bool) { return strings.CutPrefix(exported, n.prefix) }
