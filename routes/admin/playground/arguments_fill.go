package playground

import (
	"bytes"
	"strings"

	"mcpgateway/services/rawjson"
	"mcpgateway/views/admin"
)

// fillIn sets the fields of the form to arguments. It returns the names of
// arguments that the form cannot represent. If there are any, the fields must not
// be used, because these arguments would be lost.
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
			elements, _ := rawjson.Elements(value, rawjson.Lenient) // a value that is not a list has no elements
			for _, element := range elements {
				f.Values = append(f.Values, shown(f.Item, element))
			}
		default:
			f.Values = []string{shown(f.Kind, value)}
		}
	}
}

// shown returns the text of a value in a field of the kind, or "" if the field
// would change the value.
func shown(kind admin.ArgKind, value []byte) string {
	text, isText := rawjson.String(value)
	switch kind {
	case admin.ArgText, admin.ArgLines:
		if strings.Contains(text, "\r") || kind == admin.ArgText && strings.Contains(text, "\n") {
			return "" // browsers normalize line breaks and remove them from single-line fields
		}
		return text
	case admin.ArgChoice:
		if isText {
			return string(rawjson.Quote(text)) // options are quoted the same way
		}
	}
	return string(bytes.TrimSpace(value))
}

// filledIn returns a function that returns the values of a field by name.
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

// holds reports whether sent, the value from the form or nil, is the given value.
// Objects in sent may have more members, because the form always sends some.
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
