// Package shim is a proxy between a conformance suite and the gateway. The suite
// uses the bare names of an upstream's tools and prompts; the gateway exports them
// as alias__name. The proxy maps these names and forwards everything else
// unchanged.
package shim

import (
	"errors"
	"strings"
)

const separator = "__"

// Names maps the bare names of one server's tools and prompts to the names that
// the gateway exports, and back.
type Names struct{ prefix string }

// NewNames returns the mapping for the server with the alias. It returns an error
// for an alias that is invalid in the gateway.
func NewNames(alias string) (Names, error) {
	if alias == "" || strings.Contains(alias, separator) {
		return Names{}, errors.New("alias is empty or contains two consecutive underscores")
	}
	return Names{prefix: alias + separator}, nil
}

// Exported returns the exported name of a bare name.
func (n Names) Exported(bare string) string { return n.prefix + bare }

// Bare returns the bare name of an exported name. It returns false for names of
// other servers and of built-in tools.
func (n Names) Bare(exported string) (string, bool) { return strings.CutPrefix(exported, n.prefix) }
