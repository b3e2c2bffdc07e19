// Package clientfile parses the server configurations of MCP clients. It finds
// the servers in a text and translates each entry to the gateway's keys.
package clientfile

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/jsonc"

	"mcpgateway/services/nearest"
	"mcpgateway/services/rawjson"
)

// maxDepth is the maximum nesting of arrays and objects.
const maxDepth = 64

// File is a parsed client configuration.
type File struct {
	Path     string            // of the object with the servers: "mcpServers", "mcp.servers", or empty
	Servers  []Server          // in the order of the text
	Problems map[string]string // unsupported keys next to the servers, by path
	NotTaken []string          // ignored keys next to the servers, by path

	whole bool // a client's whole file, of which other keys are ignored
}

// Server is an entry as written: an object, or a URL. Name is empty for an
// unnamed entry.
type Server struct {
	Name string
	Raw  []byte
}

// wrappers are the keys around servers: of most clients, of VS Code, of Zed,
// and of the settings of VS Code and opencode.
var wrappers = []string{"mcpServers", "servers", "context_servers", "mcp"}

// harmless are keys next to the servers that don't change the exposed tools.
// ${input:…} is rejected where it is used.
var harmless = []string{"$schema", "globalShortcut", "inputs", "preferences", "theme"}

// IsFile reports whether an object is a client configuration with named servers
// rather than a single server.
func IsFile(o *rawjson.Object) bool {
	if slices.ContainsFunc(wrappers, func(name string) bool { return o.Get(name) != nil }) {
		return true
	}
	for name := range o.All() {
		if inner := o.Object(name); inner == nil || !isEntry(inner) {
			return false
		}
	}
	return o.Len() > 0
}

// Parse returns the entries of a client configuration: the object under a
// client's key, a map of servers, one server, a command line, or just a URL. It accepts
// comments, trailing commas, a byte-order mark and missing outer braces. Its
// errors name the detected format.
func Parse(text string) (*File, error) { return parse(text, false) }

// ParseFile is like Parse for the whole file of a client: keys next to the servers
// are ignored.
func ParseFile(text string) (*File, error) { return parse(text, true) }

func parse(text string, whole bool) (*File, error) {
	text = strings.TrimSpace(strings.TrimPrefix(text, "\ufeff"))
	if u, ok := remoteURL(text); ok {
		return &File{Servers: []Server{{Name: aliasOf(u), Raw: rawjson.Quote(text)}}}, nil
	}
	if s, ok := commandLine(text); ok {
		return &File{Servers: []Server{s}}, nil
	}
	if why := notJSON(text); why != "" {
		return nil, errors.New(why)
	}
	o, err := parseObject(text)
	if err != nil {
		return nil, err
	}
	if o.Get("projects") != nil && !(whole && o.Object("mcpServers") != nil) { // Claude Code's own file also has projects
		return nil, errors.New("this is a gateway file with projects: use Import, or gateway apply")
	}
	f := &File{Problems: map[string]string{}, whole: whole}
	if o = f.unwrap(o); len(f.Problems) > 0 {
		return f, nil
	}
	return f, f.entries(o)
}

// notJSON returns a message about text that can't be a JSON object, or "".
func notJSON(text string) string {
	switch {
	case tomlTable.MatchString(text):
		return "this is TOML, as used by Codex: convert the entries to JSON, or add their URLs"
	case yamlServers.MatchString(text):
		return "this is YAML, as used by Continue and Goose: convert the entries to JSON, or add their URLs"
	case strings.ContainsAny(text[:min(len(text), 1)], `{"/`):
		return ""
	case strings.HasPrefix(text, "["):
		return "this is a JSON array: use an object with the servers by name, or one URL"
	case strings.ContainsAny(text, " \t\r\n{[") || !strings.ContainsAny(text, ".:"):
		return "this is neither a JSON object nor one URL"
	}
	return "a URL must start with http:// or https://"
}

var (
	tomlTable   = regexp.MustCompile(`(?m)^\s*\[mcp_servers\.`)
	yamlServers = regexp.MustCompile(`(?m)^(mcpServers|extensions):\s*$`)
)

// parseObject parses JSON that can lack its outer braces, as entries copied
// from a file do.
func parseObject(text string) (*rawjson.Object, error) {
	raw := jsonc.ToJSONInPlace([]byte(strings.TrimSuffix(text, ","))) // blanks comments, so offsets are unchanged
	added := 0
	if strings.HasPrefix(text, `"`) {
		raw, added = append(append([]byte("{"), raw...), '}'), 1
	}
	if err := rawjson.CheckDepth(raw, maxDepth); err != nil {
		return nil, err
	}
	o, err := rawjson.ParseObject(raw, rawjson.Strict)
	if err != nil {
		return nil, errors.New(located(err.Error(), text, added))
	}
	return o, nil
}

var atByte = regexp.MustCompile(`at byte (\d+)`)

// located replaces the byte offset in a syntax error by line and column. added
// is the number of bytes prepended to the text.
func located(why, text string, added int) string {
	if strings.Contains(why, "unexpected end of JSON") && !strings.Contains(why, "at byte") {
		return "the JSON is cut off: a closing } is missing"
	}
	return atByte.ReplaceAllStringFunc(why, func(place string) string {
		at, err := strconv.Atoi(strings.TrimPrefix(place, "at byte "))
		if at -= added; err != nil || at < 0 || at > len(text) {
			return "at its end"
		}
		before := text[:at]
		return fmt.Sprintf("in line %d, column %d", strings.Count(before, "\n")+1, utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])+1)
	})
}

// unwrap returns the object that contains the servers, and records the keys
// next to it on each level.
func (f *File) unwrap(o *rawjson.Object) *rawjson.Object {
	for _, name := range wrappers {
		inner := o.Object(name)
		if inner == nil || isEntry(o) {
			continue
		}
		if name == "mcp" && isEntry(inner) {
			return inner // a server of that name, or one entry in VS Code's settings
		}
		f.siblings(o, name)
		f.Path = join(f.Path, name)
		if name == "mcp" {
			for _, name := range []string{"servers", "mcpServers"} {
				if deeper := inner.Object(name); deeper != nil {
					f.siblings(inner, name)
					f.Path = join(f.Path, name)
					return deeper
				}
			}
		}
		return inner
	}
	if name := f.misspelled(o); name != "" {
		return nil
	}
	return o
}

// siblings records the keys of an object next to the one with the servers.
func (f *File) siblings(o *rawjson.Object, servers string) {
	for name := range o.All() {
		path := join(f.Path, name)
		switch {
		case name == servers:
		case f.whole, slices.Contains(harmless, name), strings.Contains(name, "."): // VS Code's settings have dots
			f.NotTaken = append(f.NotTaken, path)
		default:
			f.Problems[path] = fmt.Sprintf("unknown key next to %s: it might change the exposed tools, so paste only %s", servers, servers)
		}
	}
}

// misspelled records a key that is probably a misspelled wrapper.
func (f *File) misspelled(o *rawjson.Object) string {
	for name := range o.All() {
		inner := o.Object(name)
		if inner == nil || isEntry(inner) || isEntry(o) || slices.Contains(wrappers, name) {
			continue
		}
		for value := range inner.All() {
			if inner.Object(value) == nil {
				continue
			}
			if meant := nearest.Name(name, []string{"mcpServers", "context_servers", "projects"}); meant != "" {
				f.Problems[name] = "unknown key: did you mean " + meant + "?"
				return name
			}
		}
	}
	return ""
}

// entries adds the servers of an object.
func (f *File) entries(o *rawjson.Object) error {
	if isEntry(o) {
		name, named := o.String("name")
		if !named {
			u, _ := remoteURL(pastedURL(o))
			name = aliasOf(u)
		}
		f.Servers = []Server{{Name: name, Raw: o.Bytes()}}
		return nil
	}
	for name, raw := range o.All() {
		f.Servers = append(f.Servers, Server{Name: name, Raw: raw})
	}
	if len(f.Servers) == 0 {
		return errors.New("it contains no servers")
	}
	return nil
}

// isEntry reports whether an object is one server rather than a map of servers.
func isEntry(o *rawjson.Object) bool {
	_, command := o.String("command")
	return command || pastedURL(o) != ""
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

// aliasOf returns a readable alias for a server URL: the most specific part of
// its host name.
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
	if name == "" || name == "gateway" || len(name) > 64 {
		return "server"
	}
	return name
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
