package playground

import (
	"bytes"
	"strings"

	"mcpgateway/services/rawjson"
	"mcpgateway/views/admin"
)

// fillIn puts typed arguments into the fields of the form. It returns the names
// of those that the form has no place for, so that nothing is lost unseen: then
// the fields are not to be used.
func fillIn(fields []admin.ArgField, arguments *rawjson.Object) (homeless []string) {
	fillGroup(fields, arguments)
	held, err := rawjson.ParseObject([]byte(typedJSON(fields, filledIn(fields))), rawjson.Lenient)
	for name, value := range arguments.All() {
		if err != nil || !holds(held.Get(name), value) {
			homeless = append(homeless, name)
		}
	}
	return homeless
}

func fillGroup(fields []admin.ArgField, arguments *rawjson.Object) {
	for i := range fields {
		f := &fields[i]
		value := arguments.Get(f.Label)
		switch {
		case value == nil:
		case f.Kind == admin.ArgGroup:
			if o, err := rawjson.ParseObject(value, rawjson.Lenient); err == nil {
				fillGroup(f.Children, o)
			}
		case f.Kind == admin.ArgList:
			elements, _ := rawjson.Elements(value, rawjson.Lenient) // of what is no list there are none
			for _, element := range elements {
				f.Values = append(f.Values, shown(f.Item, element))
			}
		default:
			f.Values = []string{shown(f.Kind, value)}
		}
	}
}

// shown returns a value as a field of the kind shows it; "" for one that the
// field would change.
func shown(kind admin.ArgKind, value []byte) string {
	text, isText := rawjson.String(value)
	switch kind {
	case admin.ArgText, admin.ArgLines:
		if strings.Contains(text, "\r") || kind == admin.ArgText && strings.Contains(text, "\n") {
			return "" // browsers have line breaks of their own, and none in a field of one line
		}
		return text
	case admin.ArgChoice:
		if isText {
			return string(rawjson.Quote(text)) // as options are spelled
		}
	}
	return string(bytes.TrimSpace(value))
}

// filledIn returns what the fields of a form hold, by their names.
func filledIn(fields []admin.ArgField) func(name string) []string {
	all := map[string][]string{}
	var add func([]admin.ArgField)
	add = func(fields []admin.ArgField) {
		for _, f := range fields {
			all[f.Name] = f.Values
			add(f.Children)
		}
	}
	add(fields)
	return func(name string) []string { return all[name] }
}

// holds reports whether what a form would send, nil for nothing, is the wanted
// value. In objects there may be more: what the form always sends.
func holds(sent, wanted []byte) bool {
	kind := rawjson.Kind(wanted)
	if sent == nil || rawjson.Kind(sent) != kind {
		return false
	}
	switch kind {
	case '{':
		have, err := rawjson.ParseObject(sent, rawjson.Lenient)
		want, wantErr := rawjson.ParseObject(wanted, rawjson.Lenient)
		if err != nil || wantErr != nil {
			return false
		}
		for name, value := range want.All() {
			if !holds(have.Get(name), value) {
				return false
			}
		}
		return true
	case '[':
		have, err := rawjson.Elements(sent, rawjson.Lenient)
		want, wantErr := rawjson.Elements(wanted, rawjson.Lenient)
		if err != nil || wantErr != nil || len(have) != len(want) {
			return false
		}
		for i := range want {
			if !holds(have[i], want[i]) {
				return false
			}
		}
		return true
	case '"':
		have, ok := rawjson.String(sent)
		want, wantOK := rawjson.String(wanted)
		return ok && wantOK && have == want
	}
	return bytes.Equal(bytes.TrimSpace(sent), bytes.TrimSpace(wanted))
}
