package admin

import (
	"github.com/a-h/templ"

	"mcpgateway/views/ui"
)

// Sentence returns the text of a fault as a sentence with a capital letter.
func Sentence(s string) string { return sentence(s) }

// FieldErrors returns the messages of a rejected form for its summary. Each name
// of order is a field with the id prefix + name.
func FieldErrors(prefix string, fields map[string]string, order ...string) []ui.FieldError {
	return fieldErrors(prefix, fields, order...)
}

// AdminsOnly replaces a form for viewers. what completes "Ask an administrator to".
func AdminsOnly(what string) templ.Component { return adminsOnly(what) }

// UnderstoodField renders the confirmation that every caller of an open project can
// use its credentials.
func UnderstoodField(id string, checked bool, problem string) templ.Component {
	return understoodField(id, checked, problem)
}

// SomeOf returns the first names of a list as text, and how many more there are.
func SomeOf(names []string, most int) string { return someOf(names, most) }

// RoleWords returns the name of a role.
func RoleWords(role string) string { return roleWords(role) }

// RoleOptions returns the roles to choose from.
func RoleOptions() []ui.Option { return roleOptions() }

// kept returns the placeholder of an empty field whose secret is stored.
func kept(stored bool, reference string) string {
	switch {
	case reference != "":
		return ui.Clean(reference)
	case stored:
		return "stored"
	}
	return ""
}

// Kept returns the placeholder of an empty field whose secret is stored. reference
// is the name of its environment variable; may be empty.
func Kept(stored bool, reference string) string { return kept(stored, reference) }
