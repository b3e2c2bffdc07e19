package sources

import (
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Conforms reports whether a document is a server object of the official format
// (official registry API, ServerDetail). Members that the format doesn't have are
// allowed.
func Conforms(document []byte) bool {
	var value any
	return json.Unmarshal(document, &value) == nil && serverDetail(value)
}

// IsURI reports whether s is an absolute URI of RFC 3986, which has only some
// characters of ASCII.
func IsURI(s string) bool {
	u, err := url.Parse(s)
	return err == nil && u.IsAbs() && s == URI(s)
}

// URI returns an address with the characters escaped that RFC 3986 doesn't allow.
func URI(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c > '~' || strings.IndexByte("\"<>\\^`{|}", c) >= 0 {
			const hex = "0123456789ABCDEF"
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// check reports whether a decoded JSON value is valid.
type check func(value any) bool

var (
	endpointURL = regexp.MustCompile(`^(https?://\S+|\{[a-zA-Z_][a-zA-Z0-9_]*\}\S*)$`)
	checksum    = regexp.MustCompile(`^[a-f0-9]{64}$`)
	iconSize    = regexp.MustCompile(`^(\d+x\d+|any)$`)
)

// The checks have the names of their schemas.
var (
	anyText = text(0, -1)
	flag    = check(func(value any) bool { _, ok := value.(bool); return ok })

	inputMembers = map[string]check{
		"description": anyText, "isRequired": flag, "format": oneOf("string", "number", "boolean", "filepath"), "value": anyText, "isSecret": flag,
		"default": anyText, "placeholder": anyText, "choices": list(anyText),
	}
	anyInput           = object(inputMembers)
	inputWithVariables = all(anyInput, object(map[string]check{"variables": values(anyInput)}))
	keyValueInput      = all(inputWithVariables, object(map[string]check{"name": anyText}, "name"))
	repeatable         = all(inputWithVariables, object(map[string]check{"isRepeated": flag, "valueHint": anyText}))
	positionalArgument = all(repeatable, object(map[string]check{"type": oneOf("positional")}, "type"), some(object(nil, "valueHint"), object(nil, "value")))
	namedArgument      = all(inputWithVariables, object(map[string]check{"type": oneOf("named"), "name": anyText, "isRepeated": flag}, "type", "name"))
	anyArgument        = some(positionalArgument, namedArgument)

	stdioTransport  = object(map[string]check{"type": oneOf("stdio")}, "type")
	remoteTransport = object(map[string]check{
		"type": oneOf("streamable-http", "sse"), "url": matching(endpointURL), "headers": list(keyValueInput),
	}, "type", "url")

	anyPackage = object(map[string]check{
		"registryType": anyText, "registryBaseUrl": uri, "identifier": anyText, "version": all(text(1, 255), not(oneOf("latest"))), "fileSha256": matching(checksum),
		"runtimeHint": anyText, "transport": some(stdioTransport, remoteTransport), "runtimeArguments": list(anyArgument), "packageArguments": list(anyArgument),
		"environmentVariables": list(keyValueInput),
	}, "registryType", "identifier", "transport")

	serverDetail = object(map[string]check{
		"name": text(3, MaxName), "description": text(1, 100), "title": text(1, 100), "version": text(0, 255), "websiteUrl": uri, "$schema": uri,
		"repository": object(map[string]check{"url": uri, "source": anyText, "id": anyText, "subfolder": anyText}, "url", "source"),
		"icons": list(object(map[string]check{
			"src": all(uri, text(0, 255)), "mimeType": oneOf("image/png", "image/jpeg", "image/jpg", "image/svg+xml", "image/webp"),
			"sizes": list(matching(iconSize)), "theme": oneOf("light", "dark"),
		}, "src")),
		"packages": list(anyPackage),
		"remotes":  list(all(remoteTransport, object(map[string]check{"variables": values(anyInput)}))),
		"_meta":    object(map[string]check{"io.modelcontextprotocol.registry/publisher-provided": object(nil)}),
	}, "name", "description", "version")
)

// text accepts texts with a number of characters. A negative maximum means none.
func text(least, most int) check {
	return func(value any) bool {
		s, ok := value.(string)
		n := utf8.RuneCountInString(s)
		return ok && n >= least && (most < 0 || n <= most)
	}
}

func matching(pattern *regexp.Regexp) check {
	return func(value any) bool {
		s, ok := value.(string)
		return ok && pattern.MatchString(s)
	}
}

func oneOf(texts ...string) check {
	return func(value any) bool {
		s, ok := value.(string)
		return ok && slices.Contains(texts, s)
	}
}

func uri(value any) bool {
	s, ok := value.(string)
	return ok && IsURI(s)
}

func list(of check) check {
	return func(value any) bool {
		elements, ok := value.([]any)
		return ok && !slices.ContainsFunc(elements, not(of))
	}
}

// object accepts objects with the required members, and with valid known ones.
func object(members map[string]check, required ...string) check {
	return func(value any) bool {
		o, ok := value.(map[string]any)
		if !ok {
			return false
		}
		for _, name := range required {
			if _, ok := o[name]; !ok {
				return false
			}
		}
		for name, inner := range o {
			if valid, known := members[name]; known && !valid(inner) {
				return false
			}
		}
		return true
	}
}

// values accepts objects whose members are all valid.
func values(of check) check {
	return func(value any) bool {
		o, ok := value.(map[string]any)
		for _, inner := range o {
			ok = ok && of(inner)
		}
		return ok
	}
}

func all(checks ...check) check {
	return func(value any) bool {
		return !slices.ContainsFunc(checks, func(c check) bool { return !c(value) })
	}
}

func some(checks ...check) check {
	return func(value any) bool {
		return slices.ContainsFunc(checks, func(c check) bool { return c(value) })
	}
}

func not(c check) func(any) bool {
	return func(value any) bool { return !c(value) }
}
