package projects

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/jsonc"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
)

// PastedServer is one server that was found in pasted text. Problems says, by
// key, why it cannot be added as it stands; Notes says what was left out or
// read in another way.
type PastedServer struct {
	Alias       string
	Declaration *ServerDeclaration
	Problems    map[string]string
	Notes       []string
}

// ParsePasted reads what people paste to add servers: the mcpServers of a
// client's configuration, the servers of VS Code (also inside "mcp"), a map of
// servers, one server, or just its URL. Comments and commas behind the last
// entry, which some clients take, are passed over. A command that only starts a bridge to
// a remote server (mcp-remote) is read as that server; other commands are a
// problem of their entry. It returns the servers by alias, and
// VALIDATION_FAILED when the text is none of these.
func ParsePasted(text string) ([]PastedServer, error) {
	text = strings.TrimSpace(text)
	if len(text) > MaxPasted {
		return nil, fault.New(fault.KindTooLarge, fault.CodePayloadTooLarge, "the pasted text is larger than %d bytes", MaxPasted)
	}
	if u, ok := remoteURL(text); ok {
		s := readPasted(aliasOf(u), rawjson.AppendString(nil, text))
		return []PastedServer{s}, nil
	}
	if !strings.ContainsAny(text[:min(len(text), 1)], `{"/`) {
		if strings.ContainsAny(text, " \t\r\n{[") || !strings.ContainsAny(text, ".:") {
			return nil, notPasted("this is neither")
		}
		return nil, notPasted("an address begins with http:// or https://")
	}
	o, err := pastedObject(text)
	if err != nil {
		return nil, notPasted(err.Error())
	}
	for _, inside := range []string{"mcp", "mcpServers", "servers"} {
		if inner := o.Object(inside); inner != nil {
			if o = inner; inside != "mcp" {
				break
			}
		}
	}
	if isEntry(o) {
		u, _ := remoteURL(pastedURL(o))
		return []PastedServer{readPasted(aliasOf(u), o.Bytes())}, nil
	}
	names := o.Names()
	switch {
	case len(names) == 0:
		return nil, notPasted("no server is in it")
	case len(names) > MaxServers:
		return nil, notPasted(fmt.Sprintf("a project holds at most %d servers", MaxServers))
	}
	servers := make([]PastedServer, 0, len(names))
	for _, name := range names {
		servers = append(servers, readPasted(name, o.Get(name)))
	}
	slices.SortFunc(servers, func(a, b PastedServer) int { return strings.Compare(a.Alias, b.Alias) })
	markTwice(servers)
	return servers, nil
}

func notPasted(why string) error {
	return fault.Validation(map[string]string{"pasted": "paste a URL, or the JSON that a client uses for its MCP servers: " + why})
}

// pastedObject reads JSON that may lack its outer braces, as entries copied out
// of a file do.
func pastedObject(text string) (*rawjson.Object, error) {
	raw := jsonc.ToJSONInPlace([]byte(strings.TrimSuffix(text, ","))) // what it blanks keeps its place
	added := 0
	if strings.HasPrefix(text, `"`) {
		raw, added = append(append([]byte("{"), raw...), '}'), 1
	}
	err := rawjson.CheckDepth(raw, maxDepth)
	if err != nil {
		return nil, err
	}
	o, err := rawjson.ParseObject(raw, rawjson.Strict)
	if err != nil {
		return nil, errors.New(inLines(err.Error(), text, added))
	}
	return o, nil
}

var atByte = regexp.MustCompile(`at byte (\d+)`)

// inLines says with line and column where in a text something is wrong, when
// so many bytes were put in front of it.
func inLines(why, text string, added int) string {
	return atByte.ReplaceAllStringFunc(why, func(place string) string {
		at, err := strconv.Atoi(strings.TrimPrefix(place, "at byte "))
		if at -= added; err != nil || at < 0 || at > len(text) {
			return "at its end"
		}
		before := text[:at]
		return fmt.Sprintf("in line %d, column %d", strings.Count(before, "\n")+1, utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])+1)
	})
}

// isEntry reports whether an object is one server and not a map of them.
func isEntry(o *rawjson.Object) bool {
	for _, name := range []string{"url", "serverUrl", "httpUrl", "command"} {
		if _, ok := o.String(name); ok {
			return true
		}
	}
	return false
}

func pastedURL(o *rawjson.Object) string {
	for _, name := range []string{"url", "serverUrl", "httpUrl"} {
		if s, ok := o.String(name); ok {
			return s
		}
	}
	return ""
}

func remoteURL(text string) (*url.URL, bool) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || strings.ContainsAny(text, " \t\r\n") {
		return &url.URL{}, false
	}
	return u, true
}

var notAlias = regexp.MustCompile(`[^a-z0-9]+`)

// aliasOf returns a readable alias for a server at an address: the part of its
// host name that tells most.
func aliasOf(u *url.URL) string {
	labels := slices.DeleteFunc(strings.Split(strings.ToLower(u.Hostname()), "."), func(label string) bool {
		return label == "" || label == "www" || label == "mcp" || label == "api"
	})
	name := "server"
	switch {
	case len(labels) > 1 && strings.Trim(u.Hostname(), "0123456789.") != "":
		name = labels[len(labels)-2]
	case len(labels) == 1:
		name = labels[0]
	}
	name = strings.Trim(notAlias.ReplaceAllString(name, "-"), "-")
	if checkAlias(name) != "" {
		return "server"
	}
	return name
}

func markTwice(servers []PastedServer) {
	folded := map[string]string{}
	for _, s := range servers {
		if other, taken := folded[foldAlias(s.Alias)]; taken {
			s.Problems["alias"] = fmt.Sprintf("aliases are unique ignoring case, and %q is there too", other)
		}
		folded[foldAlias(s.Alias)] = s.Alias
	}
}

// readPasted reads one entry: an object, or the text of a URL.
func readPasted(alias string, raw []byte) PastedServer {
	s := PastedServer{Alias: alias, Declaration: &ServerDeclaration{}, Problems: map[string]string{}}
	r := &reader{problems: s.Problems}
	if why := checkAlias(alias); why != "" {
		r.problem("alias", why)
	}
	if rawjson.Kind(raw) == '"' {
		r.text(&s.Declaration.URL, MaxURL)("url", raw)
		return s
	}
	o, err := rawjson.ParseObject(raw, rawjson.Strict)
	if err != nil {
		r.problem("url", "use an object, or a URL")
		return s
	}
	if o.Get("command") != nil {
		s.bridged(r, o)
		return s
	}
	s.entry(r, o)
	if s.Declaration.URL == nil {
		r.problem("url", "this key is required")
	}
	return s
}

// entry reads the keys of a remote server, in any client's spelling. Keys that
// mean nothing here are left out and noted.
func (s *PastedServer) entry(r *reader, o *rawjson.Object) {
	d := s.Declaration
	readers := r.serverFields(d)
	r.clientSpellings(readers, d)
	// Clients give time-outs in various units.
	delete(readers, "timeout")
	readers["disabled"] = func(path string, raw []byte) {
		var off *bool
		r.boolean(&off)(path, raw)
		if off != nil {
			on := !*off
			d.Enabled = &on
		}
	}
	for name, value := range o.All() {
		if read := readers[name]; read != nil {
			read(name, value)
			continue
		}
		s.Notes = append(s.Notes, fmt.Sprintf("%.64s is left out", name))
	}
	s.secrets(r)
}

var (
	promptedValue = regexp.MustCompile(`\$\{(?:input|prompt|config):[^}]*\}`)
	namedValue    = regexp.MustCompile(`\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-[^}]*)?\}`)
)

// secrets turns a bearer header into authBearer and the references that
// clients know into ours.
func (s *PastedServer) secrets(r *reader) {
	d := s.Declaration
	for _, name := range slices.Sorted(maps.Keys(d.Headers)) {
		value := d.Headers[name]
		scheme, token, _ := strings.Cut(value, " ")
		if strings.EqualFold(name, "Authorization") && strings.EqualFold(scheme, "Bearer") && d.AuthBearer == nil {
			token, bearer := strings.TrimSpace(token), models.UpstreamAuthBearer
			delete(d.Headers, name)
			d.AuthBearer, d.AuthType = &token, &bearer
			continue
		}
		d.Headers[name] = s.reference(r, "headers."+name, value)
	}
	if len(d.Headers) == 0 {
		d.Headers = nil
	}
	if d.AuthBearer != nil {
		token := s.reference(r, "authBearer", *d.AuthBearer)
		d.AuthBearer = &token
	}
}

// reference returns a secret as it is entered here.
func (s *PastedServer) reference(r *reader, field, value string) string {
	if promptedValue.MatchString(value) {
		r.problem(field, "the client asks for this value: enter it here")
		return ""
	}
	at := namedValue.FindStringSubmatchIndex(value)
	switch {
	case at == nil:
		return value
	case at[0] != 0 || at[1] != len(value):
		r.problem(field, "a reference to the environment must be the whole value: enter the value, or put the whole into a variable")
		return ""
	}
	return "${" + value[at[2]:at[3]] + "}"
}

// bridged reads a command that only connects to a remote server, such as
// `npx mcp-remote URL --header "Name: value"`, as that server.
func (s *PastedServer) bridged(r *reader, o *rawjson.Object) {
	items, err := rawjson.Elements(o.Get("args"), rawjson.Strict)
	if err != nil {
		items = nil
	}
	args := make([]string, 0, len(items))
	for _, item := range items {
		arg, _ := rawjson.String(item)
		args = append(args, arg)
	}
	isBridge := slices.ContainsFunc(args, func(arg string) bool { return arg == "mcp-remote" || strings.HasPrefix(arg, "mcp-remote@") })
	at := slices.IndexFunc(args, func(arg string) bool { _, ok := remoteURL(arg); return ok })
	if !isBridge || at < 0 {
		r.problem("command", notRunHere)
		return
	}
	headers := map[string]string{}
	for i, arg := range args {
		if name, value, ok := strings.Cut(arg, ":"); ok && i > 0 && args[i-1] == "--header" {
			headers[strings.TrimSpace(name)] = strings.TrimSpace(value)
		}
	}
	inner, err := rawjson.ParseObject(encode(map[string]any{"url": args[at], "headers": headers}), rawjson.Strict)
	if err != nil {
		r.problem("command", notRunHere)
		return
	}
	s.Notes = append(s.Notes, "the command connects to a remote server, which is used without it")
	s.entry(r, inner)
}
