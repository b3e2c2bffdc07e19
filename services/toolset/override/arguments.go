package override

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/secrets"
)

// maxShownName is the maximum length of an argument's name in a message, in
// characters.
const maxShownName = 64

// Resolver resolves `${NAME}` references. Implemented by secrets.Resolver.
type Resolver interface {
	Resolve(stored, row string) (secrets.Value, error)
}

// Arguments are the fixed arguments and the defaults of a tool. They are
// immutable. A nil Arguments has none.
type Arguments struct{ fixed, defaults []argument }

// argument is an argument with its compact JSON. refers reports whether it has a
// reference.
type argument struct {
	name   string
	value  []byte
	refers bool
}

// argumentsOf returns arguments sorted by name.
func argumentsOf(values map[string]json.RawMessage) []argument {
	all := make([]argument, 0, len(values))
	for _, name := range slices.Sorted(maps.Keys(values)) {
		refers := false
		eachText(values[name], func(text string) { refers = refers || IsReference(text) })
		all = append(all, argument{name: name, value: values[name], refers: refers})
	}
	return all
}

// IsReference reports whether a string in an argument is a reference. All others
// are sent as they are.
func IsReference(text string) bool { return strings.Contains(text, "${") }

// References returns the different references in overrides, sorted.
func References(overrides models.ToolOverrides) []string {
	var all []string
	for _, o := range overrides {
		for _, values := range []map[string]json.RawMessage{o.Defaults, o.Fixed} {
			for _, value := range values {
				all = append(all, ReferencesIn(value)...)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// ReferencesIn returns the references in the JSON value of an argument.
func ReferencesIn(value []byte) (all []string) {
	eachText(value, func(text string) {
		if IsReference(text) {
			all = append(all, text)
		}
	})
	return all
}

// eachText yields the strings in a JSON value, but not the names of members.
func eachText(raw []byte, yield func(text string)) {
	switch rawjson.Kind(raw) {
	case '"':
		text, _ := rawjson.String(raw)
		yield(text)
	case '[':
		items, _ := rawjson.Elements(raw, rawjson.Lenient)
		for _, item := range items {
			eachText(item, yield)
		}
	case '{':
		o, err := rawjson.ParseObject(raw, rawjson.Lenient)
		if err != nil {
			return
		}
		for _, value := range o.All() {
			eachText(value, yield)
		}
	}
}

// Apply returns the arguments of a call with the defaults of absent ones and the
// fixed ones. raw is the object that the client sent; empty is none. It returns
// INVALID_PARAMETER if the client sent a fixed argument, whatever its value, and
// the faults of Resolver.
func (a *Arguments) Apply(raw []byte, references Resolver) ([]byte, error) {
	if a == nil {
		return raw, nil
	}
	if len(raw) == 0 {
		raw = []byte("{}")
	}
	o, err := rawjson.ParseObject(raw, rawjson.Strict)
	if err != nil {
		return nil, fault.Invalid("arguments must be an object without duplicate names.").Because(err)
	}
	for _, f := range a.fixed {
		if o.Get(f.name) != nil {
			return nil, fault.Invalid("Unknown argument %q: an administrator has fixed it. Leave it out.", shownName(f.name))
		}
	}
	for _, d := range a.defaults {
		if o.Get(d.name) == nil {
			if err := d.set(o, references); err != nil {
				return nil, err
			}
		}
	}
	for _, f := range a.fixed {
		if err := f.set(o, references); err != nil {
			return nil, err
		}
	}
	return o.Bytes(), nil
}

func (a argument) set(o *rawjson.Object, references Resolver) error {
	value := a.value
	if a.refers {
		var err error
		if value, err = resolve(value, references); err != nil {
			return err
		}
	}
	o.Set(a.name, value)
	return nil
}

// resolve returns a JSON value with its references resolved.
func resolve(raw []byte, references Resolver) ([]byte, error) {
	switch rawjson.Kind(raw) {
	case '"':
		text, _ := rawjson.String(raw)
		if !IsReference(text) {
			return raw, nil
		}
		value, err := references.Resolve(text, "")
		if err != nil {
			return nil, err
		}
		return rawjson.Quote(value.Reveal()), nil
	case '[':
		return resolveItems(raw, references)
	case '{':
		o, err := rawjson.ParseObject(raw, rawjson.Lenient)
		if err != nil {
			return nil, fault.Internal(err)
		}
		for name, member := range o.All() {
			value, err := resolve(member, references)
			if err != nil {
				return nil, err
			}
			o.Set(name, value)
		}
		return o.Bytes(), nil
	}
	return raw, nil
}

func resolveItems(raw []byte, references Resolver) ([]byte, error) {
	items, err := rawjson.Elements(raw, rawjson.Lenient)
	if err != nil {
		return nil, fault.Internal(err)
	}
	for i, item := range items {
		if items[i], err = resolve(item, references); err != nil {
			return nil, err
		}
	}
	return list(items), nil
}

func shownName(name string) string {
	if r := []rune(name); len(r) > maxShownName {
		return string(r[:maxShownName]) + "…"
	}
	return name
}
