package clientfile

import (
	"regexp"
	"strings"
)

const (
	whyPrompted = "the client asks for this value: give the value, or a reference such as ${NAME}"
	whyPart     = "a reference to the environment must be the whole value: enter the value, or put the whole into a variable"
	whyFile     = "files are not read: give the value, or a reference such as ${NAME}"
	whyURL      = "an address holds no references: write it out"
)

var (
	prompted   = regexp.MustCompile(`\$\{(?:input|prompt|promptString|command|config):[^}]*\}|\$\{\{[^}]*\}\}`)
	fromFile   = regexp.MustCompile(`\$?\{file:[^}]*\}`)
	named      = regexp.MustCompile(`^(?:\$\{(?:env:)?|\{env:)([A-Za-z_][A-Za-z0-9_]*)(:-[^}]*)?\}$`)
	shellNamed = regexp.MustCompile(`^\$([A-Z_][A-Z0-9_]+)$`)
)

// reference returns a secret in the gateway's own form, or why it has none.
// Clients refer to the environment as ${NAME}, ${env:NAME} and {env:NAME};
// With shell, $NAME is
// a reference, too.
func reference(value string, shell bool) (secret, why string) {
	if m := shellNamed.FindStringSubmatch(value); m != nil {
		if shell {
			return "${" + m[1] + "}", ""
		}
		return "", "write ${" + m[1] + "} to refer to the environment"
	}
	switch m := named.FindStringSubmatch(value); {
	case m != nil && len(m[2]) > len(":-"):
		return "", "a default is not accepted: use ${" + m[1] + "}, or the value"
	case m != nil:
		return "${" + m[1] + "}", ""
	case prompted.MatchString(value):
		return "", whyPrompted
	case fromFile.MatchString(value):
		return "", whyFile
	case holdsReference(value):
		return "", whyPart
	}
	return value, ""
}

// holdsReference reports whether a client would replace a part of the text.
func holdsReference(text string) bool {
	return strings.Contains(text, "${") || strings.Contains(text, "{env:") || strings.Contains(text, "{file:")
}
