package playground

import (
	"bytes"
	"encoding/json"
	"strings"

	"mcpgateway/services/rawjson"
	"mcpgateway/views/admin"
)

// readArguments puts what was typed into the fields and returns it as a raw
// JSON object; values returns what a field of the form holds. ok is false when
// something is missing or cannot be read: the fields say what.
func readArguments(fields []admin.ArgField, values func(name string) []string) (arguments []byte, ok bool) {
	object, ok := readGroup(fields, values)
	return object.Bytes(), ok
}

// typedJSON returns what was typed into the fields as an indented JSON object,
// for somebody who goes on in JSON. What cannot be read as its argument stands
// there as a text, so that nothing that was typed is lost.
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

// typedTexts returns what was typed into a field as it was typed; nil when that
// is nothing.
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

// readField returns the raw JSON of one argument; nil is one that is not sent.
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
			return []byte(`""`), "" // an empty text is one, too
		default:
			return nil, "this is required"
		}
	}
	return readValue(f.Kind, typed, f)
}

// readOptionalGroup leaves an optional group out when nothing of it was filled
// in; what it requires is not asked for then.
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
		return nil, "a form takes at most 100 values: type them as JSON"
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
			return nil, "this is not a number"
		}
	case admin.ArgInteger:
		if rawjson.Valid(raw, rawjson.Strict) != nil || !rawjson.IsNumber(raw) || strings.ContainsAny(string(raw), ".eE") {
			return nil, "this is not a whole number"
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
			return nil, "this is not JSON: texts stand in double quotes"
		}
	default:
		return rawjson.Quote(strings.ReplaceAll(typed, "\r\n", "\n")), "" // browsers end lines with both
	}
	return raw, ""
}
