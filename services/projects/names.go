// Package projects keeps projects and their upstream servers: the rules for
// their fields, and their declarative import and export.
package projects

import (
	"regexp"
	"strings"

	"mcpgateway/services/toolset"
)

var (
	slugForm  = regexp.MustCompile(`^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$`)
	aliasForm = regexp.MustCompile(`^[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,62}[A-Za-z0-9])?$`)
)

// reservedAlias is the prefix of the built-in tools.
const reservedAlias = "gateway"

// checkSlug returns what is wrong with a project's slug, or "".
func checkSlug(slug string) string {
	if !slugForm.MatchString(slug) {
		return "use 1 to 64 lower-case letters, digits and inner hyphens"
	}
	return ""
}

// checkAlias returns what is wrong with a server's alias, or "". Without the
// separator in it, every exported name splits in exactly one way.
func checkAlias(alias string) string {
	switch {
	case !aliasForm.MatchString(alias):
		return "use 1 to 64 letters, digits and inner hyphens, dots or underscores"
	case strings.Contains(alias, toolset.Separator):
		return "two underscores in a row separate alias and tool, so an alias cannot hold them"
	case foldAlias(alias) == reservedAlias:
		return "this alias is reserved for the built-in tools"
	}
	return ""
}

// foldAlias returns the form by which aliases are unique in a project.
func foldAlias(alias string) string { return strings.ToLower(alias) }
