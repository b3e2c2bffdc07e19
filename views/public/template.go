package public

import (
	"strconv"
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
	return strconv.Itoa(int(t.EstimatedSetupMinutes)) + " min"
}

func (t Template) difficulty() string { return Capital(t.Difficulty) }

// Capital returns a word with its first letter in upper case.
func Capital(s string) string {
	for i, r := range s {
		return string(unicode.ToUpper(r)) + s[i+len(string(r)):]
	}
	return s
}

// maxLogos is the number of servers whose tile a card shows.
const maxLogos = 5

// servers returns the names of the servers whose tile the card shows.
func (t Template) servers() []string {
	names := make([]string, min(maxLogos, len(t.RelatedServerNames)))
	for i := range names {
		names[i] = ui.Clean(t.RelatedServerNames[i])
	}
	return names
}
