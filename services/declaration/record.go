package declaration

import (
	"maps"
	"slices"

	"mcpgateway/services/clientfile"
	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
)

// ParseProject parses a project in a request to the administration API: the
// keys of the declarative file and projectSlug, which is nil if absent. It
// returns VALIDATION_FAILED with every problem by path.
func ParseProject(raw []byte) (slug *string, d *Project, err error) {
	d = &Project{}
	err = parseRecord(raw, func(r *reader, o *rawjson.Object) {
		known := r.projectFields(d)
		delete(known, "access") // these have their own operations
		delete(known, "recipes")
		known["projectSlug"] = r.text(&slug, 64)
		r.readOnly(known, "createdAt", "updatedAt", "warnings")
		r.members("", o, known)
	})
	return slug, d, err
}

// ParseServer parses a server in the same way. alias is nil if absent.
func ParseServer(raw []byte) (alias *string, d *Server, err error) {
	d = &Server{}
	err = parseRecord(raw, func(r *reader, o *rawjson.Object) {
		if o.Get("command") != nil {
			r.problem("command", clientfile.CommandsFromFile)
			return
		}
		known := r.serverFields(d)
		delete(known, "inventoryPerson") // it has its own operation
		maps.Copy(known, r.recordFields(&alias))
		r.remote("", o, known)
	})
	return alias, d, err
}

// recordFields returns the keys of a server in a request in addition to those
// of its declaration.
func (r *reader) recordFields(alias **string) fields {
	known := fields{"alias": r.text(alias, 64)}
	r.readOnly(known, "id", "projectSlug", "hasAuthBearer", "headerNames", "lastSync", "revision", "health", "createdAt", "updatedAt", "warnings")
	return known
}

// ParseNewServers parses a request for new servers: either one server with its
// alias, for which single is true and which has no problems, or a client's
// configuration. If no server is valid, it returns VALIDATION_FAILED with every
// problem by path.
func ParseNewServers(raw []byte) (p *Pasted, single bool, err error) {
	o, err := rawjson.ParseObject(raw, rawjson.Strict)
	if err == nil && (o.Get("alias") != nil || !clientfile.IsFile(o)) {
		p, err = parseNewServer(raw)
		return p, true, err
	}
	p, problems, readErr := readPasted(string(raw), nil)
	switch {
	case readErr != nil:
		return nil, false, fault.Validation(map[string]string{"(body)": "send a server, or the JSON that a client uses for its MCP servers: " + readErr.Error()})
	case len(problems) > 0:
		return nil, false, fault.Validation(problems)
	case !slices.ContainsFunc(p.Servers, func(s PastedServer) bool { return len(s.Problems) == 0 }):
		return nil, false, fault.Validation(p.Refusals())
	}
	return p, false, nil
}

func parseNewServer(raw []byte) (*Pasted, error) {
	s := PastedServer{}
	var alias *string
	err := parseRecord(raw, func(r *reader, o *rawjson.Object) {
		s.read(r, clientfile.Translate(o.Bytes()), r.recordFields(&alias))
		if alias == nil && o.Get("alias") == nil {
			s.problem("alias", "alias", "this key is required")
		}
		clear(r.problems)
		maps.Copy(r.problems, s.refusals(""))
	})
	if err != nil {
		return nil, err
	}
	s.Alias = *alias
	return &Pasted{Servers: []PastedServer{s}}, nil
}

func parseRecord(raw []byte, read func(*reader, *rawjson.Object)) error {
	if err := rawjson.CheckDepth(raw, maxDepth); err != nil {
		return fault.Validation(map[string]string{"(body)": err.Error()})
	}
	o, err := rawjson.ParseObject(raw, rawjson.Strict)
	if err != nil {
		return fault.Validation(map[string]string{"(body)": "send a JSON object: " + err.Error()})
	}
	r := newReader()
	read(r, o)
	if len(r.problems) > 0 {
		return fault.Validation(r.problems)
	}
	return nil
}

// readOnly rejects read-only keys with a better reason than "unknown key".
func (r *reader) readOnly(known fields, names ...string) {
	for _, name := range names {
		known[name] = field{read: func(path string, _ []byte) { r.problem(path, "this key is read-only: leave it out") }}
	}
}
