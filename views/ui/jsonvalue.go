package ui

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
)

// Limits of a JSON text in a tree.
const (
	maxTreeBytes = 1 << 20
	maxTreeDepth = 32
	maxTreeNodes = 2_000
	maxTreeText  = 2_000 // code points of a string
)

var errTree = errors.New("too deep or not JSON")

// jsonValue is a JSON value with the original order of members and digits of
// numbers.
type jsonValue struct {
	members []jsonMember // of an object
	items   []jsonValue  // of an array
	kind    string       // object, array, string, number, boolean or null
	text    string       // of everything else
	cut     bool         // members or items were omitted
}

type jsonMember struct {
	name  string
	value jsonValue
}

// get returns the member with the name.
func (v jsonValue) get(name string) (jsonValue, bool) {
	for _, m := range v.members {
		if m.name == name {
			return m.value, true
		}
	}
	return jsonValue{}, false
}

// str returns the string member with the name, or "".
func (v jsonValue) str(name string) string {
	if m, ok := v.get(name); ok && m.kind == "string" {
		return m.text
	}
	return ""
}

// inline returns the value in one line of text.
func (v jsonValue) inline() string {
	switch v.kind {
	case "string":
		return `"` + v.text + `"`
	case "object":
		if len(v.members) == 0 {
			return "{}"
		}
		return "{…}"
	case "array":
		if len(v.items) == 0 {
			return "[]"
		}
		return "[…]"
	}
	return v.text
}

type jsonReader struct {
	decoder *json.Decoder
	left    int
}

// readJSON reads a JSON text up to the limits above.
func readJSON(raw []byte) (jsonValue, error) {
	if len(raw) > maxTreeBytes {
		return jsonValue{}, errTree
	}
	r := jsonReader{decoder: json.NewDecoder(bytes.NewReader(raw)), left: maxTreeNodes}
	r.decoder.UseNumber()
	return r.value(maxTreeDepth)
}

func (r *jsonReader) value(depth int) (jsonValue, error) {
	token, err := r.decoder.Token()
	if err != nil || depth == 0 {
		return jsonValue{}, errTree
	}
	r.left--
	switch t := token.(type) {
	case json.Delim:
		if t == '{' {
			return r.object(depth)
		}
		return r.array(depth)
	case string:
		return jsonValue{kind: "string", text: clipped(t)}, nil
	case json.Number:
		return jsonValue{kind: "number", text: t.String()}, nil
	case bool:
		return jsonValue{kind: "boolean", text: truth(t)}, nil
	}
	return jsonValue{kind: "null", text: "null"}, nil
}

func (r *jsonReader) object(depth int) (jsonValue, error) {
	v := jsonValue{kind: "object"}
	for r.decoder.More() {
		name, err := r.decoder.Token()
		if err != nil {
			return v, errTree
		}
		member, err := r.value(depth - 1)
		if err != nil {
			return v, err
		}
		if r.left < 0 {
			v.cut = true
			continue
		}
		v.members = append(v.members, jsonMember{clipped(name.(string)), member})
	}
	_, err := r.decoder.Token()
	return v, err
}

func (r *jsonReader) array(depth int) (jsonValue, error) {
	v := jsonValue{kind: "array"}
	for r.decoder.More() {
		item, err := r.value(depth - 1)
		if err != nil {
			return v, err
		}
		if r.left < 0 {
			v.cut = true
			continue
		}
		v.items = append(v.items, item)
	}
	_, err := r.decoder.Token()
	return v, err
}

// clipped returns s, shortened to maxTreeText code points.
func clipped(s string) string {
	if len(s) <= maxTreeText {
		return s
	}
	if runes := []rune(s); len(runes) > maxTreeText {
		return strings.TrimRight(string(runes[:maxTreeText]), " ") + "…"
	}
	return s
}
