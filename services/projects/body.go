package projects

import (
	"encoding/json"
	"maps"
	"slices"

	"mcpgateway/services/clientfile"
	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
)

// ParseProject reads the record of one project as the administration API takes
// it: the names of the declarative file, and projectSlug, which is nil when it
// is absent. It returns VALIDATION_FAILED with the path of every mistake.
func ParseProject(raw []byte) (slug *string, d *ProjectDeclaration, err error) {
	d = &ProjectDeclaration{}
	err = parseRecord(raw, func(r *reader, o *rawjson.Object) {
		readers := r.projectFields(d)
		readers["projectSlug"] = r.text(&slug, 64)
		r.readOnly(readers, "createdAt", "updatedAt", "warnings")
		r.fields("", o, readers)
	})
	return slug, d, err
}

// ParseServer reads the record of one server in the same way; alias is nil
// when it is absent.
func ParseServer(raw []byte) (alias *string, d *ServerDeclaration, err error) {
	d = &ServerDeclaration{}
	err = parseRecord(raw, func(r *reader, o *rawjson.Object) {
		if o.Get("command") != nil {
			r.problem("command", clientfile.NotRunHere)
			return
		}
		readers := r.serverFields(d)
		maps.Copy(readers, r.recordFields(&alias))
		r.fields("", o, readers)
	})
	return alias, d, err
}

// recordFields returns the readers of the keys that the record of a server has
// besides those of its declaration.
func (r *reader) recordFields(alias **string) fieldReaders {
	readers := fieldReaders{"alias": r.text(alias, 64)}
	r.readOnly(readers, "id", "projectSlug", "hasAuthBearer", "headerNames", "lastSync", "health", "createdAt", "updatedAt", "warnings")
	return readers
}

// ParseNewServers reads the body of a request for new servers: the record of
// one server with its alias, for which single is true and which has no
// problems, or a client's configuration. It returns VALIDATION_FAILED with the
// path of every mistake when no server is left.
func ParseNewServers(raw []byte) (p *Pasted, single bool, err error) {
	o, err := rawjson.ParseObject(raw, rawjson.Strict)
	if err == nil && (o.Get("alias") != nil || !clientfile.IsFile(o)) {
		p, err = parseNewServer(raw)
		return p, true, err
	}
	p, problems, readErr := readPasted(string(raw))
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
	r := &reader{problems: map[string]string{}}
	read(r, o)
	if len(r.problems) > 0 {
		return fault.Validation(r.problems)
	}
	return nil
}

// readOnly refuses keys that records have and nobody may set, with a better
// reason than that they are unknown.
func (r *reader) readOnly(readers fieldReaders, names ...string) {
	for _, name := range names {
		readers[name] = func(path string, _ []byte) { r.problem(path, "this key is read-only: leave it out") }
	}
}

// raw returns the declaration as JSON: the keys that are there.
func (d *ProjectDeclaration) raw() []byte {
	all, codeMode, rateLimit := map[string]any{}, map[string]any{}, map[string]any{}
	put(all, "name", d.Name)
	put(all, "description", d.Description)
	put(all, "authMode", d.AuthMode)
	put(all, "oauthAccess", d.OAuthAccess)
	put(codeMode, "enabled", d.CodeModeEnabled)
	put(codeMode, "timeout", d.CodeModeTimeoutMS)
	put(codeMode, "allowFetch", d.CodeModeFetch)
	put(all, "toolExposure", d.ToolExposure)
	put(all, "toolNameLimit", d.ToolNameLimit)
	putList(all, "disabledTools", d.DisabledTools)
	put(rateLimit, "perSecond", d.RatePerSecond)
	put(rateLimit, "burst", d.RateBurst)
	put(all, "recordPayloads", d.RecordPayloads)
	all["codeMode"], all["rateLimit"] = codeMode, rateLimit
	servers := map[string]json.RawMessage{}
	for _, alias := range slices.Sorted(maps.Keys(d.Servers)) {
		if d.Servers[alias] != nil {
			servers[alias] = d.Servers[alias].JSON()
		}
	}
	all["mcpServers"] = servers
	return encode(all)
}

// JSON returns the declaration with its secrets as ParseServer reads it: the
// keys that are there. It does not hold MissingHeaders.
func (d *ServerDeclaration) JSON() []byte {
	all, oauth := map[string]any{}, map[string]any{}
	put(all, "url", d.URL)
	put(all, "transport", d.Transport)
	put(all, "authType", d.AuthType)
	put(all, "authBearer", d.AuthBearer)
	if d.Headers != nil {
		all["headers"] = d.Headers
	}
	putList(all, "allowedTools", d.AllowedTools)
	putList(all, "denyTools", d.DenyTools)
	put(all, "enabled", d.Enabled)
	put(all, "timeout", d.TimeoutMS)
	put(all, "maxConcurrent", d.MaxConcurrent)
	put(all, "sessionMode", d.SessionMode)
	put(all, "definitionPolicy", d.DefinitionPolicy)
	put(oauth, "clientId", d.OAuthClientID)
	put(oauth, "clientSecret", d.OAuthClientSecret)
	putList(oauth, "scopes", d.OAuthScopes)
	all["oauth"] = oauth
	return encode(all)
}

func put[T any](all map[string]any, name string, value *T) {
	if value != nil {
		all[name] = *value
	}
}

// putList adds a list that is there; an empty one is not null in JSON.
func putList(all map[string]any, name string, list *[]string) {
	if list != nil {
		all[name] = append([]string{}, *list...)
	}
}

// encode returns JSON, or nothing, which no parser takes, for a number that
// JSON does not have.
func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return b
}
