package admin

import "mcpgateway/views/ui"

// ArgKind is the kind of form control for an argument in the Playground.
type ArgKind string

// The kinds of arguments.
const (
	ArgText    ArgKind = "text"
	ArgLines   ArgKind = "lines" // text of several lines
	ArgNumber  ArgKind = "number"
	ArgInteger ArgKind = "integer"
	ArgBoolean ArgKind = "boolean"
	ArgChoice  ArgKind = "choice" // the values are raw JSON
	ArgList    ArgKind = "list"   // of Item
	ArgGroup   ArgKind = "group"  // an object with the fields Children
	ArgJSON    ArgKind = "json"   // raw JSON
)

// ArgField is one argument in the form of the Playground.
type ArgField struct {
	Kind     ArgKind
	Name     string // of the form field
	Label    string
	Hint     string
	Default  string // the default that the tool's schema declares
	Required bool
	Options  []ui.Option
	Item     ArgKind
	Children []ArgField
	Values   []string // as entered; several for a list
	Error    string
}

// value returns the entered value of a field with one value.
func (f ArgField) value() string {
	if len(f.Values) == 0 {
		return ""
	}
	return f.Values[0]
}

// rows returns the entered values of a list, or one empty row.
func (f ArgField) rows() []string {
	if len(f.Values) == 0 {
		return []string{""}
	}
	return f.Values
}

// argErrors returns the errors of the arguments, for the summary.
func argErrors(fields []ArgField) []ui.FieldError {
	var all []ui.FieldError
	for _, f := range fields {
		if f.Error != "" {
			all = append(all, ui.FieldError{FieldID: argID(f.Name), Message: sentence(ui.Clean(f.Label) + ": " + f.Error)})
		}
		all = append(all, argErrors(f.Children)...)
	}
	return all
}

// argID returns the HTML id of a field. Bytes of the name that an id cannot
// contain are hex-encoded.
func argID(name string) string {
	id := []byte("arg-")
	for i := range len(name) {
		switch b := name[i]; {
		case b >= 'a' && b <= 'z', b >= 'A' && b <= 'Z', b >= '0' && b <= '9':
			id = append(id, b)
		default:
			const hex = "0123456789abcdef"
			id = append(id, '_', hex[b>>4], hex[b&15])
		}
	}
	return string(id)
}

func (f ArgField) hint() string {
	hint := ui.Clean(f.Hint)
	if f.Default != "" {
		if hint != "" {
			hint += " "
		}
		hint += "Default: " + firstOf(ui.Clean(f.Default), 80)
	}
	return hint
}

// inputMode returns the inputmode attribute, which selects a phone keyboard.
func inputMode(kind ArgKind) string {
	switch kind {
	case ArgInteger:
		return "numeric"
	case ArgNumber:
		return "decimal"
	}
	return ""
}
