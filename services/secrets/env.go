package secrets

import (
	"strings"

	"mcpgateway/services/fault"
)

// bearerPrefix may precede a reference, for header values.
const bearerPrefix = "Bearer "

// ownPrefix is the prefix of the gateway's settings, some of which are secrets.
// They are never sent to an upstream.
const ownPrefix = "GATEWAY_"

// Environment returns the values of allowed environment variables and files.
type Environment struct {
	allow  []string
	lookup func(string) (string, bool)
	files  *Files // nil allows none
}

// NewEnvironment returns the Environment of lookup, such as os.LookupEnv,
// limited to names that match a glob in allow: `*` matches any characters, `?`
// matches one. Globs are case-sensitive. Names with the prefix GATEWAY_ are
// never allowed.
func NewEnvironment(allow []string, lookup func(string) (string, bool)) *Environment {
	return &Environment{allow: append([]string(nil), allow...), lookup: lookup}
}

// WithFiles returns an Environment that also allows references to files.
func (e *Environment) WithFiles(files *Files) *Environment {
	return &Environment{allow: e.allow, lookup: e.lookup, files: files}
}

// Reference returns the name in a reference to an environment variable, or the
// path of a file after "file:". ok reports whether s is a reference: exactly
// ${NAME} or ${file:/path}, perhaps after "Bearer ".
func Reference(s string) (name string, ok bool) {
	s = strings.TrimPrefix(s, bearerPrefix)
	if !strings.HasPrefix(s, "${") || !strings.HasSuffix(s, "}") {
		return "", false
	}
	name = s[len("${") : len(s)-len("}")]
	if path, isFile := strings.CutPrefix(name, filePrefix); isFile {
		return name, isPath(path)
	}
	if !validName(name) {
		return "", false
	}
	return name, true
}

// Check returns nil for a value without a reference and for a reference to an
// allowed name, otherwise VALIDATION_FAILED. The message doesn't include the
// field.
func (e *Environment) Check(s string) error {
	name, ok := Reference(s)
	path, isFile := strings.CutPrefix(name, filePrefix)
	switch {
	case ok && isFile:
		return e.files.check(path)
	case ok && !e.allows(name):
		return fault.New(fault.KindValidation, fault.CodeValidationFailed, "%s", refusal(name))
	case !ok && strings.Contains(s, "${"):
		return fault.New(fault.KindValidation, fault.CodeValidationFailed, "A reference must be the whole value, ${NAME} or Bearer ${NAME}, with a NAME of letters, digits and _, or ${file:/path} with an absolute path without . and .. and without special characters.")
	default:
		return nil
	}
}

// Resolve returns the current value of the reference s, including its "Bearer "
// prefix. If the variable or file is missing, empty or not allowed, it returns an
// UPSTREAM_UNAUTHORIZED fault with the name. A change of a file takes effect within
// a second.
func (e *Environment) Resolve(s string) (Value, error) {
	name, ok := Reference(s)
	if !ok {
		return Value{}, fault.New(fault.KindInternal, fault.CodeInternal, "resolve a value that is not a reference")
	}
	if path, isFile := strings.CutPrefix(name, filePrefix); isFile {
		v, err := e.files.read(path)
		if err != nil || !strings.HasPrefix(s, bearerPrefix) {
			return v, err
		}
		return NewValue(bearerPrefix + v.Reveal()), nil
	}
	if !e.allows(name) {
		return Value{}, fault.Upstream(fault.CodeUpstreamUnauthorized, "%s", refusal(name))
	}
	text, ok := e.lookup(name)
	if !ok || text == "" {
		return Value{}, fault.Upstream(fault.CodeUpstreamUnauthorized, "The environment variable %s with the upstream's credential is not set.", name)
	}
	if strings.HasPrefix(s, bearerPrefix) {
		text = bearerPrefix + text
	}
	return NewValue(text), nil
}

func (e *Environment) allows(name string) bool {
	// Names are case-insensitive on some systems.
	if len(name) >= len(ownPrefix) && strings.EqualFold(name[:len(ownPrefix)], ownPrefix) {
		return false
	}
	for _, glob := range e.allow {
		if MatchName(glob, name) {
			return true
		}
	}
	return false
}

func refusal(name string) string {
	if len(name) >= len(ownPrefix) && strings.EqualFold(name[:len(ownPrefix)], ownPrefix) {
		return "The environment variable " + name + " is reserved for the gateway and is never sent to an upstream."
	}
	return "The environment variable " + name + " is not allowed. An operator can allow it in GATEWAY_ENV_ALLOW."
}

func validName(name string) bool {
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		return false
	}
	for _, c := range []byte(name) {
		if c != '_' && !isAlphanumeric(c) {
			return false
		}
	}
	return true
}

// MatchName reports whether the glob matches the whole name: `*` matches any
// characters, `?` matches one. It backtracks only to the last star, so it takes at
// most len(glob)*len(name) steps.
func MatchName(glob, name string) bool {
	g, n := 0, 0
	star, resume := -1, 0
	for n < len(name) {
		switch {
		case g < len(glob) && glob[g] == '*':
			star, resume = g, n
			g++
		case g < len(glob) && (glob[g] == '?' || glob[g] == name[n]):
			g++
			n++
		case star >= 0:
			resume++
			g, n = star+1, resume
		default:
			return false
		}
	}
	return strings.Trim(glob[g:], "*") == ""
}
