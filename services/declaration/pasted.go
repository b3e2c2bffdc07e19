package declaration

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"mcpgateway/services/clientfile"
	"mcpgateway/services/fault"
	"mcpgateway/services/nearest"
)

// Pasted is a client's configuration that was pasted, uploaded or posted. Notes
// name the ignored keys next to the servers.
type Pasted struct {
	Path    string // path of the object with the servers; empty if there is none
	Servers []PastedServer
	Notes   []string
}

// PastedServer is one server of a client's configuration. It can be added if it
// has no problems. Notes name the ignored keys, and keys with a different
// meaning here.
type PastedServer struct {
	Alias       string
	Declaration *Server
	Problems    []PastedProblem
	Notes       []string
	Command     string // program of a server that runs on the client's computer; may be empty
	Raw         []byte // entry with a Command, as pasted; it must not be stored

	lenient bool // unknown keys are ignored
}

// PastedProblem is a problem of an entry. Path is the key in the pasted entry,
// empty for the entry itself. Field is the gateway's own key that has no valid
// value because of it.
type PastedProblem struct{ Path, Field, Why string }

// PastedHint precedes the reason why a pasted text is none of the accepted formats.
const PastedHint = "paste a URL, a command, or the JSON that a client uses for its MCP servers: "

// ParsePasted parses a client's configuration for the wizard, the import and
// the API. It accepts the mcpServers of a client's configuration, the servers
// of VS Code (also inside "mcp"), the context_servers of Zed, a map of servers,
// one server, a command line, or just its URL, with comments and trailing commas. It returns
// the servers by alias, PAYLOAD_TOO_LARGE, or VALIDATION_FAILED if the text is
// none of these or has unknown keys next to the servers.
func ParsePasted(text string) (*Pasted, error) {
	if len(text) > MaxPasted {
		return nil, fault.New(fault.KindTooLarge, fault.CodePayloadTooLarge, "The pasted text is larger than %d bytes.", MaxPasted)
	}
	p, problems, err := readPasted(text, nil)
	switch {
	case err != nil:
		return nil, fault.Validation(map[string]string{"pasted": PastedHint + err.Error()})
	case len(problems) > 0:
		return nil, fault.Validation(problems)
	}
	return p, nil
}

// readPasted returns the servers of a client's configuration, the problems of
// the keys next to them by path, or an error that describes the text.
func readPasted(text string, programs []string) (*Pasted, map[string]string, error) {
	file, err := clientfile.Parse(text)
	if err != nil {
		return nil, nil, err
	}
	p := &Pasted{Path: file.Path}
	if len(file.NotTaken) > 0 {
		p.Notes = append(p.Notes, Ignored(file.NotTaken))
	}
	for _, server := range file.Servers {
		p.Servers = append(p.Servers, readEntry(server.Name, server.Raw, programs, false))
	}
	if len(p.Servers) > MaxServers {
		return nil, nil, fmt.Errorf("a project can have at most %d servers", MaxServers)
	}
	slices.SortFunc(p.Servers, func(a, b PastedServer) int { return strings.Compare(a.Alias, b.Alias) })
	markDuplicates(p.Servers)
	return p, file.Problems, nil
}

// Ignored returns a note about ignored keys.
func Ignored(keys []string) string {
	const most = 20
	text := "ignored: "
	for i, key := range keys[:min(len(keys), most)] {
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf("%.128s", key)
	}
	if len(keys) > most {
		text += fmt.Sprintf(" and %d more", len(keys)-most)
	}
	return text
}

func markDuplicates(servers []PastedServer) {
	folded := map[string]string{}
	for i, s := range servers {
		if other, taken := folded[FoldAlias(s.Alias)]; taken {
			servers[i].problem("", "alias", fmt.Sprintf("aliases must be unique ignoring case: %q already exists", other))
		}
		folded[FoldAlias(s.Alias)] = s.Alias
	}
}

func (s *PastedServer) problem(path, field, why string) {
	s.Problems = append(s.Problems, PastedProblem{Path: path, Field: field, Why: why})
}

// readEntry parses one entry of a client's configuration. programs are the keys
// that only programs have; with none, programs are refused.
func readEntry(alias string, raw []byte, programs []string, lenient bool) PastedServer {
	s := PastedServer{Alias: alias, lenient: lenient}
	if why := CheckAlias(alias); why != "" {
		s.problem("", "alias", why)
	}
	r := newReader()
	r.programs = programs
	if rest, ok := r.settings(raw); ok {
		s.readProgram(r, rest)
		return s
	}
	if s.read(r, clientfile.Translate(raw), nil); s.Command != "" {
		s.Raw = raw
	}
	return s
}

// read parses the translated keys. more are the keys of the entry in addition
// to those of every server.
func (s *PastedServer) read(r *reader, entry clientfile.Entry, more fields) {
	s.Declaration = &Server{}
	s.Command = entry.Command
	known := r.serverFields(s.Declaration)
	maps.Copy(known, more)
	s.fields(r, &entry, known)
	if s.Declaration.URL == nil && !slices.ContainsFunc(s.Problems, func(p PastedProblem) bool { return p.Field == "url" || p.Field == "command" }) {
		s.problem("url", "url", "this key is required")
	}
	if entry.Bridged {
		s.Notes = append(s.Notes, "the command only connects to a remote server: its URL is used instead")
	}
	if len(entry.NotTaken) > 0 {
		s.Notes = append(s.Notes, Ignored(entry.NotTaken))
	}
}

// fields parses the translated keys of an entry.
func (s *PastedServer) fields(r *reader, entry *clientfile.Entry, known fields) {
	for _, p := range entry.Problems {
		switch {
		case p.Reason != clientfile.CommandsFromFile:
			s.problem(p.Path, p.Field, p.Reason)
		case s.lenient && p.Field != "command":
			entry.NotTaken = append(entry.NotTaken, p.Path)
		default:
			s.problem(p.Path, p.Field, r.noCommand(p.Reason))
		}
	}
	for _, f := range entry.Fields {
		clear(r.problems)
		switch one, found := known[f.Key]; {
		case found:
			one.read(f.From, f.Value)
		case s.lenient:
			entry.NotTaken = append(entry.NotTaken, ignored(f.From, known))
		default:
			r.unknown(f.From, f.Key, known, clientfile.Keys()...)
		}
		for _, path := range slices.Sorted(maps.Keys(r.problems)) {
			s.problem(path, f.Key+strings.TrimPrefix(path, f.From), r.problems[path])
		}
	}
}

// ignored returns the path of an unknown key, with the known key that was
// probably meant.
func ignored(path string, known fields) string {
	if near := nearest.Name(path, slices.Sorted(maps.Keys(known))); near != "" {
		return fmt.Sprintf("%.64s (did you mean %s?)", path, near)
	}
	return path
}

// Refusals returns the problems of the servers, by path in the text.
func (p *Pasted) Refusals() map[string]string {
	problems := map[string]string{}
	for _, s := range p.Servers {
		maps.Copy(problems, s.refusals(p.path(s.Alias)))
	}
	return problems
}

// RefusalsOf returns by path in the text why the server with the alias was not
// stored.
func (p *Pasted) RefusalsOf(alias string, f *fault.Fault) map[string]string {
	if len(f.Fields) == 0 {
		return map[string]string{p.path(alias): f.Message}
	}
	problems := map[string]string{}
	for field, why := range f.Fields {
		problems[Join(p.path(alias), field)] = why
	}
	return problems
}

func (p *Pasted) path(alias string) string { return Join(p.Path, alias) }

func (s PastedServer) refusals(path string) map[string]string {
	problems := map[string]string{}
	for _, problem := range s.Problems {
		at := path
		if problem.Path != "" {
			at = Join(path, problem.Path)
		}
		if problems[at] == "" {
			problems[at] = problem.Why
		}
	}
	return problems
}
