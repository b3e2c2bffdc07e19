package public

import (
	"strings"
	"unicode"

	"mcpgateway/models"
	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
)

// Template is a catalog template with methods for the pages.
type Template struct{ *models.CatalogTemplate }

// Templates wraps catalog templates for the pages.
func Templates(rows []*models.CatalogTemplate) []Template {
	list := make([]Template, len(rows))
	for i, t := range rows {
		list[i] = Template{t}
	}
	return list
}

// Path returns the path of the template's page.
func (t Template) Path() string { return paths.Template(t.Slug) }

func (t Template) title() string { return ui.Clean(t.Title) }

func (t Template) minutes() string {
	return ui.Plural(int(t.EstimatedSetupMinutes), "minute", "minutes")
}

func (t Template) difficulty() string { return Capital(t.Difficulty) }

// Capital returns a word with its first letter in upper case.
func Capital(s string) string {
	for i, r := range s {
		return string(unicode.ToUpper(r)) + s[i+len(string(r)):]
	}
	return s
}

// servers returns the names of the template's servers as one line.
func (t Template) servers() string { return ui.Clean(strings.Join(t.RelatedServerNames, ", ")) }
