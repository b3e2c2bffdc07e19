package declaration

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/query"
	"mcpgateway/services/rawjson"
)

// AllServers in OffersOf are the servers with a member in the toolset.
const AllServers = "*"

// Toolset is the desired state of one toolset. A nil field is unchanged.
type Toolset struct {
	Name, Description *string
	Query             *string // in the grammar of query.Toolsets
	Include, Exclude  *[]string
	OffersOf          *[]string // aliases, or AllServers
	ToolExposure      *models.ToolExposure
}

// Check returns the toolset without invalid values, or VALIDATION_FAILED with
// the problems by field and the span of a wrong query.
func (d *Toolset) Check() (*Toolset, error) {
	r, checked := newReader(), *d
	r.toolsetFields(&checked).check("")
	r.patternCount("", &checked)
	return &checked, d.invalid(r.problems)
}

// ParseToolset parses a toolset in a request: its keys in the declarative file
// and slug, which is nil if absent. It returns VALIDATION_FAILED like Check.
func ParseToolset(raw []byte) (slug *string, d *Toolset, err error) {
	d = &Toolset{}
	var text *string
	err = parseRecord(raw, func(r *reader, o *rawjson.Object) {
		known := r.toolsetFields(d)
		known["slug"] = r.text(&slug, 64)
		r.readOnly(known, "id", "projectSlug", "tools", "total", "endpoints", "createdAt", "updatedAt", "warnings")
		if s, ok := rawjson.String(o.Get("query")); ok {
			text = &s
		}
		r.members("", o, known)
		r.patternCount("", d)
	})
	if err != nil {
		return nil, nil, (&Toolset{Query: text}).invalid(fault.From(err).Fields)
	}
	return slug, d, nil
}

// ParseToolsetPreview parses the selection of a toolset that is not stored.
func ParseToolsetPreview(raw []byte) (*Toolset, error) {
	d := &Toolset{}
	var text *string
	err := parseRecord(raw, func(r *reader, o *rawjson.Object) {
		known := r.toolsetFields(d)
		for _, name := range []string{"name", "description", "toolExposure"} {
			delete(known, name)
		}
		if s, ok := rawjson.String(o.Get("query")); ok {
			text = &s
		}
		r.members("", o, known)
		r.patternCount("", d)
	})
	if err != nil {
		return nil, (&Toolset{Query: text}).invalid(fault.From(err).Fields)
	}
	return d, nil
}

// invalid returns VALIDATION_FAILED for problems, with the span of the query if
// it is one of them.
func (d *Toolset) invalid(problems map[string]string) error {
	if len(problems) == 0 {
		return nil
	}
	f := fault.Validation(problems)
	if problems["query"] != "" && d.Query != nil {
		if _, err := query.Toolsets().Parse(*d.Query); err != nil {
			f.Span = fault.From(err).Span
		}
	}
	return f
}

// toolsetFields returns the keys of a toolset.
func (r *reader) toolsetFields(d *Toolset) fields {
	return fields{
		"name":         r.text(&d.Name, MaxName),
		"description":  r.text(&d.Description, MaxDescription),
		"query":        r.toolQuery(&d.Query),
		"include":      r.strings(&d.Include, MaxPatterns, MaxToolPattern),
		"exclude":      r.strings(&d.Exclude, MaxPatterns, MaxToolPattern),
		"offersOf":     r.offersOf(&d.OffersOf),
		"toolExposure": oneOf(r, &d.ToolExposure, "", models.ExposeFull, models.ExposeBuiltin),
	}
}

// toolQuery returns the field of a query that selects the tools of a toolset.
func (r *reader) toolQuery(dst **string) field {
	return value(r, dst, "use a string", rawjson.String, func(s string) (string, string) {
		if s = strings.TrimSpace(s); s == "" {
			return "", ""
		}
		if _, err := query.Toolsets().Parse(s); err != nil {
			return "", fault.From(err).Message
		}
		return checkText(s, query.MaxCodePoints)
	})
}

// offersOf returns the field of the servers whose prompts and resources belong
// to a toolset. Servers that don't exist are allowed, because servers come and
// go.
func (r *reader) offersOf(dst **[]string) field {
	list := r.strings(dst, MaxServers+1, 64)
	check := func(path string) {
		if list.check(path); *dst == nil {
			return
		}
		for i, alias := range **dst {
			if alias == AllServers {
				continue
			}
			if why := CheckAlias(alias); why != "" {
				r.problem(fmt.Sprintf("%s[%d]", path, i), why+", or * for every server of the toolset")
			}
		}
	}
	read := func(path string, raw []byte) {
		list.read(path, raw)
		check(path)
	}
	return field{read: read, check: check, value: list.value}
}

// patternCount reports include and exclude of a toolset at a path that have
// more patterns together than a toolset can have.
func (r *reader) patternCount(path string, d *Toolset) {
	if d.Include != nil && d.Exclude != nil && len(*d.Include)+len(*d.Exclude) > MaxPatterns {
		r.problem(Join(path, "exclude"), TooManyPatterns())
	}
}

// TooManyPatterns returns the problem of a toolset with more than MaxPatterns
// patterns.
func TooManyPatterns() string {
	return fmt.Sprintf("use at most %d patterns in include and exclude together", MaxPatterns)
}

// TooManyToolsets returns the problem of a project with more than MaxToolsets.
func TooManyToolsets() string {
	return fmt.Sprintf("a project can have at most %d toolsets", MaxToolsets)
}

// toolsets returns the field of a project's toolsets by slug.
func (r *reader) toolsets(d *Project) field {
	bound := func(path string) {
		if len(d.Toolsets) > MaxToolsets {
			r.problem(path, TooManyToolsets())
		}
	}
	read := func(path string, raw []byte) {
		d.Toolsets = map[string]*Toolset{}
		r.each(path, raw, func(slug, path string, v []byte) {
			if why := CheckSlug(slug); why != "" {
				r.problem(path, why)
			}
			t := &Toolset{}
			r.object(path, v, r.toolsetFields(t))
			r.patternCount(path, t)
			d.Toolsets[slug] = t
		})
		bound(path)
	}
	check := func(path string) {
		given := d.Toolsets
		if given == nil {
			return
		}
		d.Toolsets = make(map[string]*Toolset, len(given))
		for _, slug := range slices.Sorted(maps.Keys(given)) {
			path := Join(path, slug)
			if why := CheckSlug(slug); why != "" {
				r.problem(path, why)
			}
			if given[slug] == nil {
				r.problem(path, "use an object")
				continue
			}
			t := *given[slug]
			r.toolsetFields(&t).check(path)
			r.patternCount(path, &t)
			d.Toolsets[slug] = &t
		}
		bound(path)
	}
	return field{read: read, check: check}
}
