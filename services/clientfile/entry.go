package clientfile

import (
	"bytes"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"mcpgateway/services/rawjson"
)

// Entry is a server of a client's configuration in the gateway's keys. Unknown
// keys are copied to the fields.
type Entry struct {
	Fields   []Field
	Problems []Problem
	NotTaken []string // ignored keys
	Bridged  bool     // the command only connects to the remote server
	Command  string   // name of the program of a local server; may be empty
}

// Field is a key of the gateway. From is its path in the entry.
type Field struct {
	Key, From string
	Value     []byte
}

// Problem is an unsupported part of an entry. Field is the gateway's key that
// gets no value.
type Problem struct{ Path, Field, Reason string }

// Translate returns the translation of an entry, which is an object or a URL.
func Translate(raw []byte) Entry {
	t := &translation{fields: map[string]Field{}}
	if rawjson.Kind(raw) == '"' {
		t.set("url", "url", raw)
		return t.entry()
	}
	o, err := rawjson.ParseObject(raw, rawjson.Strict)
	if err != nil {
		t.problem("", "url", "use an object, or a URL")
		return t.entry()
	}
	t.object(o)
	return t.entry()
}

// translation collects the fields of an entry. If shell is set, $NAME refers to
// the environment, as in Gemini CLI.
type translation struct {
	Entry
	fields map[string]Field
	shell  bool
	signIn string            // the key that requests OAuth, or empty
	env    map[string]string // of a bridge
}

func (t *translation) problem(path, field, why string) {
	t.Problems = append(t.Problems, Problem{Path: path, Field: field, Reason: why})
}

// set adds a field. A duplicate is a problem.
func (t *translation) set(key, from string, value []byte) {
	if other, twice := t.fields[key]; twice {
		t.problem(from, key, key+" is set twice, also as "+other.From)
		return
	}
	t.fields[key] = Field{Key: key, From: from, Value: value}
}

func (t *translation) entry() Entry {
	for _, key := range slices.Sorted(maps.Keys(t.fields)) {
		t.Fields = append(t.Fields, t.fields[key])
	}
	return t.Entry
}

func (t *translation) object(o *rawjson.Object) {
	for _, key := range []string{"httpUrl", "includeTools", "excludeTools", "trust"} {
		t.shell = t.shell || o.Get(key) != nil
	}
	if o.Get("command") != nil && !t.bridge(o) {
		program, _ := o.String("command")
		t.Command = path.Base(strings.ReplaceAll(program, `\`, "/"))
		t.Problems = []Problem{{Path: "command", Field: "command", Reason: CommandsFromFile}}
		return
	}
	for name, value := range o.All() {
		t.key(o, name, value)
	}
	t.transport(o)
	t.enabled(o)
	t.references()
	t.credentials()
}

// key translates a key. Keys that depend on others are translated later.
func (t *translation) key(o *rawjson.Object, name string, value []byte) {
	ours, same := sameMeaning[name]
	switch {
	case slices.Contains(transportKeys, name), name == "enabled", name == "disabled":
	case slices.Contains(local, name):
		if !t.Bridged {
			t.problem(name, name, CommandsFromFile)
		}
	case slices.Contains(clientOnly, name):
		t.NotTaken = append(t.NotTaken, name)
	case refused[name] != "":
		t.problem(name, name, refused[name])
	case name == "tools" && rawjson.Kind(value) == '{': // ours, not a client's list
		t.set(name, name, value)
	case same:
		if items, err := rawjson.Elements(value, rawjson.Strict); ours == "allowedTools" && err == nil && len(items) == 0 {
			t.problem(name, ours, `an empty list allows no tools in the client but all tools here: use "denyTools": ["*"], or remove it`)
			return
		}
		t.set(ours, name, value)
	case name == "oauth", name == "auth":
		t.oauth(name, value)
	case name == "timeout" && o.Get("autoApprove") != nil, name == "timeout" && o.Get("alwaysAllow") != nil:
		t.timeout(value)
	default:
		t.set(name, name, value)
	}
}

// maxSeconds is the maximum timeout of clients that use seconds.
const maxSeconds = 3600

// timeout rejects a number that may be in seconds, as in Cline and Roo Code.
func (t *translation) timeout(value []byte) {
	n, err := strconv.Atoi(string(bytes.TrimSpace(value)))
	if err == nil && n > 0 && n <= maxSeconds {
		t.problem("timeout", "timeout", "some clients use seconds here, the gateway uses milliseconds: write "+strconv.Itoa(n)+"000 if these are seconds")
		return
	}
	t.set("timeout", "timeout", value)
}

// transport translates the keys that name a transport. They must agree.
func (t *translation) transport(o *rawjson.Object) {
	for _, name := range transportKeys {
		value := o.Get(name)
		if value == nil {
			continue
		}
		word, _ := rawjson.String(value)
		switch {
		case t.Bridged && (word == "stdio" || word == "local"):
			continue
		case name == "type" && IsStdio(name, value):
			t.problem(name, "command", CommandsFromFile)
			continue
		case word == "stdio" || word == "connector":
			t.problem(name, "transport", TransportFromFile)
			continue
		}
		ours, known := transports[word]
		if !known {
			t.problem(name, "transport", "use http, streamable-http, streamableHttp or sse")
			continue
		}
		if other, twice := t.fields["transport"]; twice && rawjson.EqualString(other.Value, ours) {
			continue
		}
		t.set("transport", name, rawjson.Quote(ours))
	}
}

// enabled translates enabled and its opposite. They must agree.
func (t *translation) enabled(o *rawjson.Object) {
	on, off := o.Get("enabled"), o.Get("disabled")
	if on != nil {
		t.set("enabled", "enabled", on)
	}
	switch {
	case off == nil:
	case !isBool(off):
		t.problem("disabled", "enabled", "use true or false")
	case on == nil:
		t.set("enabled", "disabled", strconv.AppendBool(nil, !isTrue(off)))
	case isBool(on) && isTrue(on) == isTrue(off):
		t.problem("disabled", "enabled", "conflicts with enabled: remove one of them")
	}
}

// oauth translates the OAuth client of Claude Code, Gemini CLI, Zed and Cursor.
func (t *translation) oauth(name string, value []byte) {
	o, err := rawjson.ParseObject(value, rawjson.Strict)
	if err != nil {
		t.problem(name, "oauth", "use an object")
		return
	}
	ours, _ := rawjson.ParseObject([]byte("{}"), rawjson.Strict)
	on := o.Get("enabled")
	for key, value := range o.All() {
		path := name + "." + key
		to, known := oauthKeys[key]
		switch {
		case slices.Contains(oauthClientOnly, key):
			t.NotTaken = append(t.NotTaken, path)
		case key == "enabled":
			if !isBool(value) {
				t.problem(path, "oauth", "use true or false")
			}
		case !known:
			ours.Set(key, value) // unknown here, too
		case ours.Get(to) != nil:
			t.problem(path, "oauth", to+" is set twice")
		default:
			ours.Set(to, t.oauthValue(path, to, value))
		}
	}
	t.set("oauth", name, ours.Bytes())
	if id, _ := ours.String("clientId"); isTrue(on) || on == nil && id != "" {
		t.signIn = name
	}
}

func (t *translation) oauthValue(path, key string, value []byte) []byte {
	text, ok := rawjson.String(value)
	switch {
	case !ok:
		return value
	case key == "scopes":
		return list(strings.Fields(text))
	}
	secret, why := reference(text, t.shell)
	if key == "clientId" && why == "" && secret != text {
		why = "a client id is not a secret: enter its value"
	}
	if why != "" {
		t.problem(path, "oauth."+key, why)
		secret = ""
	}
	return rawjson.Quote(secret)
}

func isTrue(raw []byte) bool { return string(bytes.TrimSpace(raw)) == "true" }

func isBool(raw []byte) bool { return isTrue(raw) || string(bytes.TrimSpace(raw)) == "false" }

func list(items []string) []byte {
	raw := []byte{'['}
	for i, item := range items {
		if i > 0 {
			raw = append(raw, ',')
		}
		raw = rawjson.AppendString(raw, item)
	}
	return append(raw, ']')
}
