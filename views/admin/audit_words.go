package admin

import (
	"strconv"
	"strings"

	"mcpgateway/views/ui"
)

// ActionWords returns the label of an action, such as "Key created".
func ActionWords(action string) string {
	words := strings.NewReplacer(".", " ", "_", " ").Replace(ui.Clean(action))
	if words == "" {
		return ""
	}
	return strings.ToUpper(words[:1]) + words[1:]
}

func (r AuditRow) who() string {
	switch {
	case r.Actor != "":
		return ui.Clean(r.Actor)
	case r.Kind == "system":
		return "The gateway"
	default:
		return ui.Clean(r.Kind)
	}
}

// summary is the label of a row's details.
func (r AuditRow) summary() string {
	if len(r.Detail) == 0 {
		return "Details"
	}
	return ui.Plural(len(r.Detail), "detail", "details")
}

// facts returns the details of a row, with its number and its request.
func (r AuditRow) facts() []ui.Fact {
	facts := append([]ui.Fact{}, r.Detail...)
	if r.Request != "" {
		facts = append(facts, ui.Fact{Label: "Request ID", Value: ui.Clean(r.Request), Mono: true})
	}
	return append(facts, ui.Fact{Label: "Row", Value: strconv.FormatInt(r.Seq, 10), Mono: true})
}

// actionOptions returns the areas to filter by, and the chosen action if it is
// not one of them.
func actionOptions(chosen string) []ui.Option {
	options := []ui.Option{
		{Value: "", Label: "Everything"}, {Value: "login", Label: "Sign-ins"}, {Value: "person", Label: "People"}, {Value: "group", Label: "Groups"}, {Value: "project", Label: "Projects"},
		{Value: "server", Label: "Servers"}, {Value: "tool", Label: "Tools"}, {Value: "key", Label: "Keys"}, {Value: "connection", Label: "Connections"}, {Value: "oauth", Label: "Apps"}, {Value: "catalog", Label: "Catalog"},
	}
	for _, o := range options {
		if o.Value == chosen {
			return options
		}
	}
	return append(options, ui.Option{Value: chosen, Label: ui.Clean(chosen)})
}
