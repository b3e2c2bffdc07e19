// Package clientfile reads the server configurations of MCP clients: which
// servers are in a text, and what each entry means in the gateway's own keys.
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

// maxDepth is the number of nested arrays and objects that are accepted.
const maxDepth = 64

// File is a client's configuration, taken apart into its entries.
type File struct {
	Path     string            // of the object with the servers: "mcpServers", "mcp.servers", or empty
	Servers  []Server          // in the order of the text
	Problems map[string]string // keys next to the servers that are not understood, by path
	NotTaken []string          // keys next to the servers without a meaning here, by path
}

// Server is one entry as it was written: an object, or the text of a URL. Name
// is empty for an entry without one.
type Server struct {
	Name string
	Raw  []byte
}

// wrappers are the keys around servers: of most clients, VS Code, Zed, and the
// settings of VS Code and opencode.
var wrappers = []string{"mcpServers", "servers", "context_servers", "mcp"}

// harmless are keys next to the servers that do not change what they expose.
// ${input:…} is refused where it is used.
var harmless = []string{"$schema", "globalShortcut", "inputs", "preferences", "theme"}

// IsFile reports whether an object is a client's configuration with named
// servers, and not one server.
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

// Parse returns the entries of a client's configuration: the object under one
// of the clients' keys, a map of servers, one server, or just a URL. Comments,
// trailing commas, a byte-order mark and missing outer braces are accepted. It
// returns an error that names what the text is instead.
func Parse(text string) (*File, error) {
	text = strings.TrimSpace(strings.TrimPrefix(text, "\ufeff"))
	if u, ok := remoteURL(text); ok {
		return &File{Servers: []Server{{Name: aliasOf(u), Raw: rawjson.Quote(text)}}}, nil
	}
	if why := notJSON(text); why != "" {
		return nil, errors.New(why)
	}
	o, err := parseObject(text)
	if err != nil {
		return nil, err
	}
	if o.Get("projects") != nil {
		return nil, errors.New("this is a gateway's own file with projects: use Import, or gateway apply")
	}
	f := &File{Problems: map[string]string{}}
	if o = f.unwrap(o); len(f.Problems) > 0 {
		return f, nil
	}
	return f, f.entries(o)
}

// notJSON returns what a text is that cannot be a JSON object, or "".
func notJSON(text string) string {
	switch {
	case tomlTable.MatchString(text):
		return "this is TOML, as Codex uses it: write the entries as JSON, or add their URLs"
	case yamlServers.MatchString(text):
		return "this is YAML, as Continue and Goose use it: write the entries as JSON, or add their URLs"
	case strings.ContainsAny(text[:min(len(text), 1)], `{"/`):
		return ""
	case strings.ContainsAny(text, " \t\r\n{[") || !strings.ContainsAny(text, ".:"):
		return "this is neither"
	}
	return "an address starts with http:// or https://"
}

var (
	tomlTable   = regexp.MustCompile(`(?m)^\s*\[mcp_servers\.`)
	yamlServers = regexp.MustCompile(`(?m)^(mcpServers|extensions):\s*$`)
)

// parseObject reads JSON that may lack its outer braces, as entries copied out
// of a file do.
func parseObject(text string) (*rawjson.Object, error) {
	raw := jsonc.ToJSONInPlace([]byte(strings.TrimSuffix(text, ","))) // what it blanks keeps its place
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

// located replaces the byte offset in a syntax error by its line and column.
// added is the number of bytes that were put in front of the text.
func located(why, text string, added int) string {
	if strings.Contains(why, "it ends where") && !strings.Contains(why, "at byte") {
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

// unwrap returns the object that holds the servers, and records the keys
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
		case slices.Contains(harmless, name), strings.Contains(name, "."): // VS Code's settings have dots
			f.NotTaken = append(f.NotTaken, path)
		default:
			f.Problems[path] = fmt.Sprintf("this key is unknown next to %s: it may change which tools are offered, so paste only %s", servers, servers)
		}
	}
}

// misspelled records a key that was probably meant to be one of the wrappers.
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
				f.Problems[name] = "this key is unknown: did you mean " + meant + "?"
				return name
			}
		}
	}
	return ""
}

// entries takes the object with the servers apart.
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
		return errors.New("no server is in it")
	}
	return nil
}

// isEntry reports whether an object is one server and not a map of them.
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

// aliasOf returns a readable name for a server at an address: the most specific
// part of its host name.
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
