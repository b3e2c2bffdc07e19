package declaration

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"mcpgateway/services/nearest"
	"mcpgateway/services/rawjson"
)

// reader parses and validates declarations. It collects every problem by path,
// so that a file can be corrected in one step.
type reader struct {
	problems map[string]string
	// programs are the keys that only programs have, in the operator's file. With
	// none, programs are refused.
	programs []string
}

func newReader() *reader { return &reader{problems: map[string]string{}} }

func (r *reader) problem(path, why string) {
	if _, reported := r.problems[path]; !reported {
		r.problems[path] = why
	}
}

// object parses an object with the known keys.
func (r *reader) object(path string, raw []byte, known fields) {
	o, err := rawjson.ParseObject(raw, rawjson.Strict)
	if err != nil {
		r.problem(path, "use an object")
		return
	}
	r.members(path, o, known)
}

func (r *reader) members(path string, o *rawjson.Object, known fields) {
	for name, value := range o.All() {
		f, found := known[name]
		if !found {
			r.unknown(Join(path, name), name, known)
			continue
		}
		f.read(Join(path, name), value)
	}
}

// each parses an object whose keys are names.
func (r *reader) each(path string, raw []byte, read func(name, path string, raw []byte)) {
	o, err := rawjson.ParseObject(raw, rawjson.Strict)
	if err != nil {
		r.problem(path, "use an object")
		return
	}
	for name, value := range o.All() {
		read(name, Join(path, name), value)
	}
}

// unknown reports an unknown key and suggests the nearest known one, or lists
// all. also are further names that may have been meant.
func (r *reader) unknown(path, name string, known fields, also ...string) {
	names := slices.Sorted(maps.Keys(known))
	if near := nearest.Name(name, append(names[:len(names):len(names)], also...)); near != "" {
		r.problem(path, "unknown key: did you mean "+near+"?")
		return
	}
	r.problem(path, "unknown key: use one of "+strings.Join(names, ", "))
}

// aliases returns a function that checks aliases one after another, each with
// its path.
func (r *reader) aliases() func(path, alias string) {
	folded := map[string]string{}
	return func(path, alias string) {
		if why := CheckAlias(alias); why != "" {
			r.problem(path, why)
		}
		if other, taken := folded[FoldAlias(alias)]; taken {
			r.problem(path, fmt.Sprintf("aliases must be unique ignoring case: %q already exists", other))
		}
		folded[FoldAlias(alias)] = alias
	}
}

// Join returns the path of a key in the object at a path.
func Join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
