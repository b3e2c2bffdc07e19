// Package declaration parses projects and servers as users write them: in the
// gateway's own file, in a client's configuration, or in a request. It
// validates them and reports every problem by its path.
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

// ReservedAlias is the alias of recipes and the prefix of the built-in tools.
const ReservedAlias = toolset.GatewayAlias

// CheckSlug returns the problem of a project's slug, or "".
func CheckSlug(slug string) string {
	if !slugForm.MatchString(slug) {
		return "use 1 to 64 lower-case letters, digits and inner hyphens"
	}
	return ""
}

// CheckAlias returns the problem of a server's alias, or "". Aliases don't
// contain the separator, so every exported name can be split in exactly one
// way.
func CheckAlias(alias string) string {
	switch {
	case !aliasForm.MatchString(alias):
		return "use 1 to 64 letters, digits and inner hyphens, dots or underscores"
	case strings.Contains(alias, toolset.Separator):
		return "an alias can't contain two underscores in a row: they separate alias and tool"
	case FoldAlias(alias) == ReservedAlias:
		return "this alias is reserved for recipes and the built-in tools"
	}
	return ""
}

// FoldAlias returns the form in which aliases are unique within a project.
func FoldAlias(alias string) string { return strings.ToLower(alias) }
