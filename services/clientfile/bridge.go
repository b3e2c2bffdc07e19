package clientfile

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"mcpgateway/services/rawjson"
)

// bridgeTransports are mcp-remote's transport strategies.
var bridgeTransports = map[string]string{"http-first": "auto", "sse-first": "auto", "http-only": "streamable-http", "sse-only": "sse"}

// Flags of mcp-remote that concern only its own process and callback.
var (
	bridgeSwitches = []string{"--allow-http", "--debug", "--disable-resource-parameter", "--enable-proxy", "--silent"}
	bridgeOptions  = []string{"--auth-timeout", "--callback-path", "--host", "--resource"}
)

// bridge translates a command that only connects to a remote server, such as
// `npx mcp-remote URL --header "Name: value"`, and reports whether it is one.
func (t *translation) bridge(o *rawjson.Object) bool {
	items, err := rawjson.Elements(o.Get("args"), rawjson.Strict)
	if err != nil {
		return false
	}
	args := make([]string, len(items))
	for i, item := range items {
		args[i], _ = rawjson.String(item)
	}
	at := slices.IndexFunc(args, func(arg string) bool { return arg == "mcp-remote" || strings.HasPrefix(arg, "mcp-remote@") })
	if at < 0 || at+1 == len(args) {
		return false
	}
	if _, ok := remoteURL(args[at+1]); !ok {
		return false
	}
	t.Bridged, t.env = true, map[string]string{}
	if env := o.Object("env"); env != nil {
		for _, name := range env.Names() {
			t.env[name], _ = env.String(name)
		}
	}
	t.set("url", "args", rawjson.Quote(args[at+1]))
	used := t.bridgeFlags(args[at+2:])
	for _, name := range slices.Sorted(maps.Keys(t.env)) {
		if !strings.Contains(used, "${"+name+"}") {
			t.NotTaken = append(t.NotTaken, "env."+name)
		}
	}
	return true
}

// bridgeFlags parses the arguments after the URL and returns the texts that can
// refer to the entry's environment. An unknown flag is a problem.
func (t *translation) bridgeFlags(args []string) (expanded string) {
	headers, _ := rawjson.ParseObject([]byte("{}"), rawjson.Strict)
	var ignored []string
	for i := 0; i < len(args); i++ {
		flag, value := args[i], ""
		if _, err := strconv.Atoi(flag); err == nil && i == 0 || slices.Contains(bridgeSwitches, flag) {
			t.NotTaken = append(t.NotTaken, "args "+flag)
			continue
		}
		if i+1 < len(args) {
			i++
			value = args[i]
		}
		name, header, isHeader := strings.Cut(value, ":")
		switch {
		case slices.Contains(bridgeOptions, flag):
			t.NotTaken = append(t.NotTaken, "args "+flag)
		case flag == "--header" && isHeader:
			expanded += header
			headers.Set(strings.TrimSpace(name), rawjson.Quote(t.expand(strings.TrimSpace(header))))
		case flag == "--ignore-tool" && value != "":
			ignored = append(ignored, value)
		case flag == "--transport" && bridgeTransports[value] != "":
			t.set("transport", "args", rawjson.Quote(bridgeTransports[value]))
		case flag == "--static-oauth-client-info" && strings.HasPrefix(value, "@"):
			t.problem("args", "args", "files are not supported: set the client id and secret in oauth")
		case flag == "--static-oauth-client-info":
			expanded += value
			t.oauth("args", []byte(t.expand(value)))
		default:
			t.problem("args", "args", "mcp-remote's flag "+strconv.Quote(flag)+" is not supported")
		}
	}
	if headers.Len() > 0 {
		t.set("headers", "args", headers.Bytes())
	}
	if len(ignored) > 0 {
		t.set("denyTools", "args", list(ignored))
	}
	return expanded
}

var variable = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// expand replaces references to the entry's own environment.
func (t *translation) expand(text string) string {
	return variable.ReplaceAllStringFunc(text, func(ref string) string {
		if value, given := t.env[ref[2:len(ref)-1]]; given {
			return value
		}
		return ref
	})
}
