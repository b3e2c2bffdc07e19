package secrets

import (
	"strings"

	"mcpgateway/services/fault"
)

// bearerPrefix may stand before a reference, for header values.
const bearerPrefix = "Bearer "

// ownPrefix begins the names of the gateway's own settings, some of which are
// secrets that no upstream may ever receive.
const ownPrefix = "GATEWAY_"

// Environment gives the values of environment variables whose names an
// operator has allowed.
type Environment struct {
	allow  []string
	lookup func(string) (string, bool)
}

// NewEnvironment returns the environment that lookup reads, such as
// os.LookupEnv, limited to names that match one of the globs in allow: `*`
// stands for any characters, `?` for one, and case counts. Names that begin
// with GATEWAY_ are never allowed.
func NewEnvironment(allow []string, lookup func(string) (string, bool)) *Environment {
	return &Environment{allow: append([]string(nil), allow...), lookup: lookup}
}

// Reference returns the name in a reference to an environment variable, and
// whether s is one: exactly ${NAME} or Bearer ${NAME}.
func Reference(s string) (name string, ok bool) {
	s = strings.TrimPrefix(s, bearerPrefix)
	if !strings.HasPrefix(s, "${") || !strings.HasSuffix(s, "}") {
		return "", false
	}
	name = s[len("${") : len(s)-len("}")]
	if !validName(name) {
		return "", false
	}
	return name, true
}

// Check returns nil for a value that may be saved: one without a reference,
// or a reference to an allowed name. Otherwise it returns a VALIDATION_FAILED
// fault whose message says why; the caller knows the field.
func (e *Environment) Check(s string) error {
	name, ok := Reference(s)
	switch {
	case ok && !e.allows(name):
		return fault.New(fault.KindValidation, fault.CodeValidationFailed, "%s", refusal(name))
	case !ok && strings.Contains(s, "${"):
		return fault.New(fault.KindValidation, fault.CodeValidationFailed, "a reference must be the whole value, ${NAME} or Bearer ${NAME}, with a NAME of letters, digits and _")
	default:
		return nil
	}
}

// Resolve returns the present value of the reference s, including "Bearer "
// where the reference has it. It returns an UPSTREAM_UNAUTHORIZED fault that
// names the variable when it is not set, empty or not allowed.
func (e *Environment) Resolve(s string) (Value, error) {
	name, ok := Reference(s)
	if !ok {
		return Value{}, fault.New(fault.KindInternal, fault.CodeInternal, "a value that refers to no environment variable was to be resolved")
	}
	if !e.allows(name) {
		return Value{}, fault.Upstream(fault.CodeUpstreamUnauthorized, "%s", refusal(name))
	}
	text, ok := e.lookup(name)
	if !ok || text == "" {
		return Value{}, fault.Upstream(fault.CodeUpstreamUnauthorized, "the environment variable %s, which holds the upstream's credential, is not set in the gateway's environment", name)
	}
	if strings.HasPrefix(s, bearerPrefix) {
		text = bearerPrefix + text
	}
	return NewValue(text), nil
}

func (e *Environment) allows(name string) bool {
	// Some systems ignore the case of names.
	if len(name) >= len(ownPrefix) && strings.EqualFold(name[:len(ownPrefix)], ownPrefix) {
		return false
	}
	for _, glob := range e.allow {
		if matches(glob, name) {
			return true
		}
	}
	return false
}

func refusal(name string) string {
	if len(name) >= len(ownPrefix) && strings.EqualFold(name[:len(ownPrefix)], ownPrefix) {
		return "the environment variable " + name + " belongs to the gateway and is never sent to an upstream"
	}
	return "the environment variable " + name + " may not be read; an operator can allow it in GATEWAY_ENV_ALLOW"
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

// matches reports whether the whole name matches the glob. It goes back to the
// last star only, so it takes at most len(glob)*len(name) steps.
func matches(glob, name string) bool {
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
