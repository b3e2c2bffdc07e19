package public

import (
	"fmt"
	"strings"

	"mcpgateway/models"
	"mcpgateway/views/ui"
)

// maxTextTools is the maximum number of tools in a text for models.
const maxTextTools = 200

// maxIndexed is the maximum number of servers in the index for models. The
// search finds the others.
const maxIndexed = 100

// markdown escapes catalog text for a line of Markdown.
var markdown = strings.NewReplacer("\\", "\\\\", "[", "\\[", "]", "\\]", "<", "\\<", "`", "\\`", "*", "\\*", "#", "\\#", "\n", " ", "\r", " ")

func line(text string) string { return markdown.Replace(ui.Clean(strings.TrimSpace(text))) }

// TextPath returns the path of the server's text for models.
func (s CatalogEntry) TextPath() string { return s.Path() + "/llms.txt" }

// Text returns the server in Markdown for models (https://llmstxt.org), with
// URLs below base. check is its last check; may be nil.
func (s CatalogEntry) Text(base string, check *models.CatalogCheck) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n> %s\n\n", line(s.Title()), line(s.Description))
	if s.Status == models.CatalogDeprecated {
		b.WriteString("Deprecated: the publisher no longer recommends it.\n\n")
	}
	for _, f := range s.facts() {
		if f.Label != "Works here" {
			fmt.Fprintf(&b, "- %s: %s\n", f.Label, line(f.Value))
		}
	}
	for _, l := range s.links() {
		fmt.Fprintf(&b, "- %s: <%s>\n", l.Label, strings.NewReplacer("<", "%3C", ">", "%3E").Replace(ui.Clean(l.URL)))
	}
	fmt.Fprintf(&b, "- Page: <%s%s>\n", base, s.Path())
	if runs := s.local().Runs(); len(runs) > 0 {
		b.WriteString("\n## Run it\n\n")
		for _, r := range runs {
			fmt.Fprintf(&b, "    %s\n", ui.Clean(r.Command))
		}
	}
	if len(s.Variables) > 0 {
		b.WriteString("\n## Environment variables\n\n")
		for _, v := range s.Variables {
			fmt.Fprintf(&b, "- %s%s\n", line(v.Name), variableWords(v))
		}
	}
	if list := toolsOf(s, check); len(list) > 0 {
		fmt.Fprintf(&b, "\n## Tools (%d)\n\n", len(list))
		for _, t := range list[:min(maxTextTools, len(list))] {
			fmt.Fprintf(&b, "- %s%s\n", line(t.name), t.words())
		}
		if more := len(list) - maxTextTools; more > 0 {
			fmt.Fprintf(&b, "- and %d more\n", more)
		}
	}
	return b.String()
}

func variableWords(v models.CatalogVariable) string {
	var words []string
	switch {
	case v.Required == nil:
	case *v.Required:
		words = append(words, "required")
	default:
		words = append(words, "optional")
	}
	if v.Secret {
		words = append(words, "secret")
	}
	text := ""
	if len(words) > 0 {
		text = " (" + strings.Join(words, ", ") + ")"
	}
	if v.Description != "" {
		text += ": " + line(v.Description)
	}
	return text
}

// words returns what a tool declares and takes.
func (t tool) words() string {
	text := ""
	if t.access != declares {
		text = " (" + strings.ToLower(string(t.access)) + ")"
	}
	if t.checked != nil && len(t.checked.Parameters) > 0 {
		text += ": " + line(t.parameters())
	}
	return text
}

// CatalogText returns the catalog's part of llms.txt, with URLs below base:
// where to search it, and its first servers.
func CatalogText(base string, servers []CatalogEntry) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n## Catalog\n\n- [Catalog](%s/registry): %s\n", base, ui.Plural(len(servers), "MCP server", "MCP servers"))
	fmt.Fprintf(&b, "- [Search](%s/api/registry?query=github&limit=10): the catalog as JSON; replace the query\n", base)
	fmt.Fprintf(&b, "- [Official format](%s/v0.1/servers): the same servers in the format of the official MCP registry\n", base)
	fmt.Fprintf(&b, "- [Templates](%s/templates): ready-made projects\n", base)
	if len(servers) > 0 {
		b.WriteString("\n## Servers\n\n")
	}
	for _, s := range servers[:min(maxIndexed, len(servers))] {
		fmt.Fprintf(&b, "- [%s](%s%s): %s\n", line(s.Title()), base, s.TextPath(), line(s.Description))
	}
	return b.String()
}
