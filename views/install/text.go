package install

import (
	"bytes"
	"encoding/json"
	"strings"
)

// object is a JSON object whose keys stay in their order.
type object []member

type member struct {
	name  string
	value any
}

// with returns the object with more members appended.
func (o object) with(more object) object { return append(o[:len(o):len(o)], more...) }

// MarshalJSON writes the members in their order.
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(quoted(m.name))
		b.WriteByte(':')
		b.WriteString(line(m.value))
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// line returns a value as JSON on one line. Encoding cannot fail, because the
// values of this package are strings, booleans, lists and objects.
func line(value any) string { return encoded(value, "") }

// text returns a value as indented JSON.
func text(value any) string { return encoded(value, "  ") }

func encoded(value any, indent string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // keeps & in URLs readable; templ escapes it for the page
	e.SetIndent("", indent)
	if err := e.Encode(value); err != nil {
		return ""
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// servers returns the configuration file of a client with one server under a key.
func servers(key, name string, server object) string {
	return text(object{{key, object{{name, server}}}})
}

// quoted returns s as a JSON string, which is a TOML string too.
func quoted(s string) string { return encoded(s, "") }

// word returns s as one word of a POSIX shell. Text from a catalog must not
// become another command when a user pastes the line.
func word(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:@%+,=", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func words(list []string) []string {
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = word(s)
	}
	return quoted
}

// EnvironmentName returns the name of an environment variable for the key of
// the server with the name, such as ACME_DOCS_TOKEN for acme-docs.
// A digit cannot come first: 21st-dev becomes MCP_21ST_DEV_TOKEN.
func EnvironmentName(name string) string {
	prefix := ""
	if name != "" && name[0] >= '0' && name[0] <= '9' {
		prefix = "MCP_"
	}
	return prefix + strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		}
		return '_'
	}, name) + "_TOKEN"
}

// Declaration returns the server in the format of a file for gateway apply.
// token is the name of the environment variable with its key.
func (r Remote) Declaration(token string) string {
	server := object{{"url", r.URL}}
	if r.SSE {
		server = append(server, member{"transport", "sse"})
	}
	switch reference := "${" + token + "}"; {
	case r.OAuth:
		server = append(server, member{"authType", "oauth"})
	case r.Key != "" && r.header() == "Authorization":
		server = append(server, member{"authType", "bearer"}, member{"authBearer", reference})
	case r.Key != "":
		server = append(server, member{"headers", object{{r.header(), reference}}})
	}
	return servers("mcpServers", r.Name, server)
}
