package declaration

import (
	"fmt"
	"maps"
	"slices"

	"mcpgateway/services/rawjson"
)

// MaxAccess is the maximum number of people and groups that a declaration can
// name in each map of a project's access.
const MaxAccess = 10_000

// Access is the desired state of who can use a project. A nil map or list is
// unchanged; others replace what is stored.
type Access struct {
	People           map[string]Tools // by email address
	Groups           map[string]Tools // by name
	Maintainers      *[]string        // email addresses
	MaintainerGroups *[]string        // names
}

// Tools are the tools of a project that a person or group can use.
type Tools struct {
	Everything bool
	Toolsets   []string // slugs; only without Everything
}

// Everything is the value of a person or group who can use the whole project.
const Everything = "project"

// access returns the field of who can use a project.
func (r *reader) access(d *Project) field {
	known := func() fields {
		return fields{
			"people": r.tools(&d.Access.People), "groups": r.tools(&d.Access.Groups),
			"maintainers": r.strings(&d.Access.Maintainers, MaxAccess, 512), "maintainerGroups": r.strings(&d.Access.MaintainerGroups, MaxAccess, 512),
		}
	}
	return field{
		read: func(path string, raw []byte) {
			d.Access = &Access{}
			r.object(path, raw, known())
		},
		check: func(path string) {
			if d.Access == nil {
				return
			}
			access := *d.Access
			d.Access = &access
			known().check(path)
		},
	}
}

// tools returns the field of the tools of people or groups, by name.
func (r *reader) tools(dst *map[string]Tools) field {
	check := func(path string) {
		if len(*dst) > MaxAccess {
			r.problem(path, fmt.Sprintf("use at most %d entries", MaxAccess))
		}
		for _, name := range slices.Sorted(maps.Keys(*dst)) {
			t := (*dst)[name]
			if !t.Everything && len(t.Toolsets) == 0 {
				r.problem(Join(path, name), `use "project" for everything, or a list of toolsets`)
			}
		}
	}
	read := func(path string, raw []byte) {
		*dst = map[string]Tools{}
		r.each(path, raw, func(name, path string, raw []byte) {
			if word, ok := rawjson.String(raw); ok {
				(*dst)[name] = Tools{Everything: word == Everything} // other words are a problem
				return
			}
			var slugs *[]string
			r.strings(&slugs, MaxToolsets, 64).read(path, raw)
			if slugs != nil {
				(*dst)[name] = Tools{Toolsets: slices.Compact(slices.Sorted(slices.Values(*slugs)))}
			}
		})
		check(path)
	}
	return field{read: read, check: check}
}
