package declaration

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"mcpgateway/services/access/groups"
	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
)

// File is the declarative file: the desired state of the projects in it. A nil
// field was absent and leaves the stored value unchanged. Notes name the
// ignored keys of a client's configuration. Refused contains the problems of
// its skipped servers, by path.
type File struct {
	Projects map[string]*Project
	Groups   map[string]*groups.Declared // of users, by name
	Notes    []string
	Refused  map[string]string
	Client   *Pasted // the configuration it was parsed from; nil for the gateway's own form
}

// DefaultProject is the project of a file with only mcpServers.
const DefaultProject = "default"

// Parse parses a declarative file, or a client's configuration, which becomes
// the project "default". It returns all problems at once as VALIDATION_FAILED,
// by path.
func Parse(raw []byte) (*File, error) {
	d, err := ParseImport(raw)
	if err == nil && len(d.Refused) > 0 {
		return nil, fault.Validation(d.Refused)
	}
	return d, err
}

// ParseImport is like Parse, but skips invalid servers of a client's
// configuration and records them in Refused, as long as at least one is valid.
func ParseImport(raw []byte) (*File, error) { return parseFile(raw, nil) }

// parseFile parses a file. programs are the keys that only programs have; with
// none, programs are refused.
func parseFile(raw []byte, programs []string) (*File, error) {
	if len(raw) > MaxSize {
		return nil, fault.New(fault.KindTooLarge, fault.CodePayloadTooLarge, "The declaration is larger than %d bytes.", MaxSize)
	}
	raw = bytes.TrimPrefix(raw, []byte("\ufeff")) // some editors put a byte-order mark before the text (RFC 8259, section 8.1)
	if err := rawjson.CheckDepth(raw, maxDepth); err != nil {
		return nil, fault.Validation(map[string]string{"(file)": err.Error()})
	}
	o, err := rawjson.ParseObject(raw, rawjson.Strict)
	switch {
	case err == nil && (o.Get("projects") != nil || o.Get("groups") != nil):
		return parseProjects(o, programs)
	case err == nil && o.Len() == 0:
		return nil, fault.Validation(map[string]string{"projects": "missing: a declaration contains either projects or mcpServers"})
	}
	pasted, problems, err := readPasted(string(raw), programs)
	switch {
	case err != nil:
		return nil, fault.Validation(map[string]string{"(file)": "not a JSON object with projects or mcpServers: " + err.Error()})
	case len(problems) > 0:
		return nil, fault.Validation(problems)
	}
	return pasted.declaration()
}

// declaration returns the project "default" with the valid servers, and
// VALIDATION_FAILED if there is none.
func (p *Pasted) declaration() (*File, error) {
	project := &Project{Servers: map[string]*Server{}}
	d := &File{Projects: map[string]*Project{DefaultProject: project}, Notes: slices.Clone(p.Notes), Refused: p.Refusals(), Client: p}
	for _, s := range p.Servers {
		for _, note := range s.Notes {
			d.Notes = append(d.Notes, s.Alias+": "+note)
		}
		if len(s.Problems) == 0 {
			project.Servers[s.Alias] = s.Declaration
		}
	}
	if len(project.Servers) == 0 {
		return nil, fault.Validation(d.Refused)
	}
	return d, nil
}

func parseProjects(o *rawjson.Object, programs []string) (*File, error) {
	r := newReader()
	r.programs = programs
	d := &File{Projects: map[string]*Project{}}
	r.members("", o, fields{
		"projects": {read: func(path string, v []byte) {
			r.each(path, v, func(slug, path string, v []byte) {
				if why := CheckSlug(slug); why != "" {
					r.problem(path, why)
				}
				project := &Project{}
				r.object(path, v, r.projectFields(project))
				d.Projects[slug] = project
			})
		}},
		"groups": r.groups(d),
		"mcpServers": {read: func(path string, _ []byte) {
			r.problem(path, "a declaration contains either projects or mcpServers: remove one of them")
		}},
	})
	if o.Get("projects") == nil {
		// Without this check, --prune would delete all projects.
		r.problem("projects", "missing: add it, with the projects or as {}")
	}
	if len(r.problems) > 0 {
		return nil, fault.Validation(r.problems)
	}
	return d, nil
}

// Refuse moves the servers of a client's configuration with one of the problems
// to Refused, and reports whether that resolves all problems.
func (d *File) Refuse(problems map[string]string) bool {
	if d.Client == nil || len(problems) == 0 {
		return false
	}
	servers := d.Projects[DefaultProject].Servers
	left, refused := maps.Clone(servers), maps.Clone(d.Refused)
	for path, why := range problems {
		alias, field := "", ""
		for name := range servers {
			if rest, inside := strings.CutPrefix(path, PathInFile(DefaultProject, name)+"."); inside && len(name) > len(alias) {
				alias, field = name, rest // aliases may contain dots
			}
		}
		if alias == "" {
			return false
		}
		refused[Join(d.Client.path(alias), field)] = why
		delete(left, alias)
	}
	d.Projects[DefaultProject].Servers, d.Refused = left, refused
	return true
}

// PathInFile returns the path of a project, or of its server with the alias, in
// a declarative file.
func PathInFile(slug, alias string) string {
	path := "projects." + slug
	if alias != "" {
		path += ".mcpServers." + alias
	}
	return path
}
