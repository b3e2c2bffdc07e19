package admin

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
)

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

var errorCode = regexp.MustCompile(`^[A-Z][A-Z0-9_]*$`)

// codeURL returns the documentation of an error code, or "" for other text.
func codeURL(code string) string {
	if !errorCode.MatchString(code) {
		return ""
	}
	return paths.ErrorCode(code)
}

// named returns the name of a project, or its slug when it has none.
func named(name, slug string) string {
	if name = ui.Clean(name); strings.TrimSpace(name) != "" {
		return name
	}
	return slug
}

// someOf returns the first names of a list as text, and how many more there are.
func someOf(names []string, most int) string {
	shown := make([]string, 0, most)
	for _, name := range names[:min(len(names), most)] {
		shown = append(shown, ui.Clean(name))
	}
	text := strings.Join(shown, ", ")
	if more := len(names) - most; more > 0 {
		text += " and " + ui.Count(more) + " more"
	}
	return text
}

// or returns s, or other when s is empty.
func or(s, other string) string {
	if s != "" {
		return s
	}
	return other
}
