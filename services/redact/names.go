package redact

import "strings"

// secretParts are parts of secret names, in letters and digits only.
var secretParts = [...]string{
	"password", "passwd", "passphrase", "secret", "token", "apikey", "authorization", "credential", "cookie", "privatekey", "accesskey",
	"sessionid", "signingkey", "encryptionkey", "connectionstring", "bearer", "jwt",
}

// exact are complete secret names that would match too much as parts.
var exact = map[string]bool{"pwd": true, "pass": true, "auth": true, "otp": true, "pin": true, "sid": true, "cvv": true, "cvc": true, "sig": true, "signature": true, "xauthkey": true}

// Secret reports whether a member, header or parameter of this name contains a
// secret.
func Secret(name string) bool {
	name = fold(name)
	if exact[name] {
		return true
	}
	for _, part := range secretParts {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}

func (r *redactor) secret(name string) bool {
	return Secret(name) || len(r.names) > 0 && r.names[fold(name)]
}

// holdsName reports whether a member contains the name of its sibling value.
func holdsName(name string) bool {
	switch fold(name) {
	case "name", "key", "header", "field", "param", "parameter":
		return true
	default:
		return false
	}
}

// holdsValue reports whether a member contains the value for its sibling name.
func holdsValue(name string) bool {
	switch fold(name) {
	case "value", "values", "val", "text", "data", "content":
		return true
	default:
		return false
	}
}

func folded(names []string) map[string]bool {
	all := make(map[string]bool, len(names))
	for _, name := range names {
		if name = fold(name); name != "" {
			all[name] = true
		}
	}
	return all
}

// fold returns the letters and digits of a name in lower case.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9':
			return r
		case 'A' <= r && r <= 'Z':
			return r + 'a' - 'A'
		default:
			return -1
		}
	}, name)
}
