// Package declaration describes projects and servers as users write them: in
// the gateway's own file, in a client's configuration, or in a request. It reads
// and checks them and reports every problem by its path.
package declaration

import (
	"regexp"
	"strings"

	"mcpgateway/services/toolset"
)

var (
	slugForm  = regexp.MustCompile(`^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$`)
	aliasForm = regexp.MustCompile(`^[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,62}[A-Za-z0-9])?$`)
)

// ReservedAlias is the prefix of the built-in tools.
const ReservedAlias = "gateway"

// CheckSlug returns what is wrong with a project's slug, or "".
func CheckSlug(slug string) string {
	if !slugForm.MatchString(slug) {
		return "use 1 to 64 lower-case letters, digits and inner hyphens"
	}
	return ""
}

// CheckAlias returns what is wrong with a server's alias, or "". Without the
// separator in it, every exported name splits in exactly one way.
func CheckAlias(alias string) string {
	switch {
	case !aliasForm.MatchString(alias):
		return "use 1 to 64 letters, digits and inner hyphens, dots or underscores"
	case strings.Contains(alias, toolset.Separator):
		return "two underscores in a row separate alias and tool, so an alias cannot hold them"
	case FoldAlias(alias) == ReservedAlias:
		return "this alias is reserved for the built-in tools"
	}
	return ""
}

// FoldAlias returns the form by which aliases are unique in a project.
func FoldAlias(alias string) string { return strings.ToLower(alias) }
