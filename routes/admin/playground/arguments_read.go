package playground

import (
	"bytes"
	"encoding/json"
	"strings"

	"mcpgateway/services/rawjson"
	"mcpgateway/views/admin"
)

// readArguments sets the fields to the entered values and returns these as a raw
// JSON object. values returns the values of a form field. ok is false if a value
// is missing or invalid; the fields then contain the errors.
func readArguments(fields []admin.ArgField, values func(name string) []string) (arguments []byte, ok bool) {
	object, ok := readGroup(fields, values)
	return object.Bytes(), ok
}

// typedJSON returns the entered values as an indented JSON object, for users who
// switch to JSON. An invalid value becomes a string, so that no input is lost.
func typedJSON(fields []admin.ArgField, values func(name string) []string) string {
	var indented bytes.Buffer
	if json.Indent(&indented, typedGroup(fields, values), "", "  ") != nil {
		return "{}"
	}
	return indented.String()
}

func typedGroup(fields []admin.ArgField, values func(name string) []string) []byte {
	object, _ := rawjson.ParseObject([]byte("{}"), rawjson.Strict)
	for _, f := range fields {
		var value []byte
		if f.Kind == admin.ArgGroup {
			if f.Required || typedAnything(f.Children, values) {
				value = typedGroup(f.Children, values)
			}
		} else if read, problem := readField(&f, values); problem == "" {
			value = read
		} else {
			value = typedTexts(f)
		}
		if value != nil {
			object.Set(f.Label, value)
		}
	}
	return object.Bytes()
}

// typedTexts returns the entered values of a field as JSON strings, or nil if the
// field is empty.
func typedTexts(f admin.ArgField) []byte {
	var texts [][]byte
	for _, value := range f.Values {
		if value != "" {
			texts = append(texts, rawjson.Quote(value))
		}
	}
	switch {
	case f.Kind == admin.ArgList:
		return append(append([]byte{'['}, bytes.Join(texts, []byte{','})...), ']')
	case len(texts) > 0:
		return texts[0]
	}
	return nil
}

func readGroup(fields []admin.ArgField, values func(name string) []string) (object *rawjson.Object, ok bool) {
	object, _ = rawjson.ParseObject([]byte("{}"), rawjson.Strict)
	ok = true
	for i := range fields {
		value, problem := readField(&fields[i], values)
		if problem != "" {
			fields[i].Error, ok = problem, false
		}
		for _, child := range fields[i].Children {
			ok = ok && !hasError(child)
		}
		if value != nil {
			object.Set(fields[i].Label, value)
		}
	}
	return object, ok
}

func hasError(f admin.ArgField) bool {
	for _, child := range f.Children {
		if hasError(child) {
			return true
		}
	}
	return f.Error != ""
}

// readField returns the raw JSON of one argument, or nil if it is not sent.
func readField(f *admin.ArgField, values func(name string) []string) (value []byte, problem string) {
	if f.Kind == admin.ArgGroup {
		return readOptionalGroup(f, values)
	}
	f.Values = values(f.Name)
	if f.Kind == admin.ArgList {
		return readList(f)
	}
	typed := ""
	if len(f.Values) > 0 {
		typed = f.Values[0]
	}
	if typed == "" {
		switch {
		case !f.Required:
			return nil, ""
		case f.Kind == admin.ArgText || f.Kind == admin.ArgLines:
			return []byte(`""`), "" // an empty string is a valid value
		default:
			return nil, "this is required"
		}
	}
	return readValue(f.Kind, typed, f)
}

// readOptionalGroup returns nil for an optional group without values. Its required
// members are then not required.
func readOptionalGroup(f *admin.ArgField, values func(name string) []string) (value []byte, problem string) {
	if !f.Required && !typedAnything(f.Children, values) {
		return nil, ""
	}
	object, _ := readGroup(f.Children, values)
	return object.Bytes(), ""
}

func typedAnything(fields []admin.ArgField, values func(name string) []string) bool {
	for _, f := range fields {
		for _, value := range values(f.Name) {
			if value != "" {
				return true
			}
		}
		if typedAnything(f.Children, values) {
			return true
		}
	}
	return false
}

func readList(f *admin.ArgField) (value []byte, problem string) {
	var typed []string
	for _, v := range f.Values {
		if v != "" {
			typed = append(typed, v)
		}
	}
	f.Values = typed
	if len(typed) > maxArgValues {
		return nil, "use at most 100 values, or edit as JSON"
	}
	if len(typed) == 0 && !f.Required {
		return nil, ""
	}
	list := []byte{'['}
	for i, v := range typed {
		raw, problem := readValue(f.Item, v, f)
		if problem != "" {
			return nil, problem
		}
		if i > 0 {
			list = append(list, ',')
		}
		list = append(list, raw...)
	}
	return append(list, ']'), ""
}

func readValue(kind admin.ArgKind, typed string, f *admin.ArgField) (value []byte, problem string) {
	raw := []byte(strings.TrimSpace(typed))
	switch kind {
	case admin.ArgNumber:
		if rawjson.Valid(raw, rawjson.Strict) != nil || !rawjson.IsNumber(raw) {
			return nil, "enter a number"
		}
	case admin.ArgInteger:
		if rawjson.Valid(raw, rawjson.Strict) != nil || !rawjson.IsNumber(raw) || strings.ContainsAny(string(raw), ".eE") {
			return nil, "enter a whole number"
		}
	case admin.ArgBoolean, admin.ArgChoice:
		for _, option := range f.Options {
			if option.Value != "" && option.Value == typed {
				return []byte(typed), ""
			}
		}
		return nil, "choose one of the values"
	case admin.ArgJSON:
		if rawjson.Valid(raw, rawjson.Strict) != nil {
			return nil, "use valid JSON; put text in double quotes"
		}
	default:
		return rawjson.Quote(strings.ReplaceAll(typed, "\r\n", "\n")), "" // browsers send CRLF
	}
	return raw, ""
}
