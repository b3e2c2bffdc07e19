package clientfile

import (
	"regexp"
	"strings"
)

const (
	whyPrompted = "the client prompts for this value: enter the value, or a reference such as ${NAME}"
	whyPart     = "a reference must be the whole value: enter the value, or put the whole value into a variable"
	whyFile     = "use ${file:/path} with an absolute path below GATEWAY_SECRET_DIRS, or a reference such as ${NAME}"
	whyURL      = "URLs can't contain references: enter the whole URL"
)

var (
	prompted   = regexp.MustCompile(`\$\{(?:input|prompt|promptString|command|config):[^}]*\}|\$\{\{[^}]*\}\}`)
	ownFile    = regexp.MustCompile(`^(?:Bearer )?\$\{file:/[^}]*\}$`)
	fromFile   = regexp.MustCompile(`\$?\{file:[^}]*\}`)
	named      = regexp.MustCompile(`^(?:\$\{(?:env:)?|\{env:)([A-Za-z_][A-Za-z0-9_]*)(:-[^}]*)?\}$`)
	shellNamed = regexp.MustCompile(`^\$([A-Z_][A-Z0-9_]+)$`)
)

// reference returns a secret in the gateway's form, or the reason for which it
// has none. Clients refer to the environment as ${NAME}, ${env:NAME} and
// {env:NAME}, and with shell also as $NAME.
func reference(value string, shell bool) (secret, why string) {
	if m := shellNamed.FindStringSubmatch(value); m != nil {
		if shell {
			return "${" + m[1] + "}", ""
		}
		return "", "use ${" + m[1] + "} to refer to the environment"
	}
	switch m := named.FindStringSubmatch(value); {
	case m != nil && len(m[2]) > len(":-"):
		return "", "defaults are not supported: use ${" + m[1] + "}, or the value"
	case m != nil:
		return "${" + m[1] + "}", ""
	case ownFile.MatchString(value):
		return value, ""
	case prompted.MatchString(value):
		return "", whyPrompted
	case fromFile.MatchString(value):
		return "", whyFile
	case holdsReference(value):
		return "", whyPart
	}
	return value, ""
}

// holdsReference reports whether a client would replace part of the text.
func holdsReference(text string) bool {
	return strings.Contains(text, "${") || strings.Contains(text, "{env:") || strings.Contains(text, "{file:")
}
