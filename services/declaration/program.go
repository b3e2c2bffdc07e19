package declaration

import (
	"slices"

	"mcpgateway/services/clientfile"
	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
)

// remoteKeys are the keys that only servers with a URL have.
var remoteKeys = []string{
	"url", "authType", "authBearer", "headers", "oauth", "tls", "forwardHeaders", "connection", "personalHeaders", "inventoryPerson", "confirm",
}

// ParseServed is Parse for the operator's file, which can have programs: servers
// with a command. Their own keys, which keys lists, are left out of the result.
func ParseServed(raw []byte, keys []string) (*File, error) {
	d, err := parseFile(raw, keys)
	if err == nil && len(d.Refused) > 0 {
		return nil, fault.Validation(d.Refused)
	}
	return d, err
}

// ReadServed returns an entry of a client's configuration in the operator's file. It
// is like an entry of ParseServed, but unknown keys are notes.
func ReadServed(alias string, raw []byte, keys []string) PastedServer {
	return readEntry(alias, raw, keys, true)
}

// programFields returns the keys of a program.
func (r *reader) programFields(d *Server) fields {
	known := r.serverFields(d)
	refuse := func(why string) field {
		return field{read: func(path string, _ []byte) { r.problem(path, why) }}
	}
	for _, name := range remoteKeys {
		known[name] = refuse("only servers with a URL have this key")
	}
	for _, name := range r.programs {
		known[name] = field{read: func(string, []byte) {}} // for the runner
	}
	for _, name := range []string{"type", "transport"} {
		known[name] = field{read: func(path string, raw []byte) {
			if !clientfile.IsStdio(name, raw) {
				r.problem(path, "a server with a command has the transport stdio: remove this key")
			}
		}}
	}
	return known
}

// noCommand returns why a server with a URL can't have a key of commands: why, or
// a text for the operator's file.
func (r *reader) noCommand(why string) string {
	if len(r.programs) > 0 {
		return "only servers with a command have this key"
	}
	return why
}

// settings returns a program of a client's configuration without the keys of
// programs. ok is false for other entries, and if programs are refused.
func (r *reader) settings(raw []byte) (rest *rawjson.Object, ok bool) {
	o, err := rawjson.ParseObject(raw, rawjson.Strict)
	if err != nil || len(r.programs) == 0 || o.Get("command") == nil || clientfile.Translate(raw).Bridged {
		return nil, false
	}
	copied := o.Clone()
	for name, value := range o.All() {
		if slices.Contains(r.programs, name) || clientfile.IsStdio(name, value) {
			copied.Delete(name)
		}
	}
	return &copied, true
}

// readProgram parses the settings of a program.
func (s *PastedServer) readProgram(r *reader, rest *rawjson.Object) {
	s.Declaration = &Server{Program: true}
	entry := clientfile.Translate(rest.Bytes())
	s.fields(r, &entry, r.programFields(s.Declaration))
	if len(entry.NotTaken) > 0 {
		s.Notes = append(s.Notes, Ignored(entry.NotTaken))
	}
}
