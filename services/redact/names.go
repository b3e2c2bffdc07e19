package redact

import "strings"

// promising are parts of names that promise a secret, without anything but
// letters and digits.
var promising = [...]string{
	"password", "passwd", "passphrase", "secret", "token", "apikey", "authorization", "credential", "cookie", "privatekey", "accesskey",
	"sessionid", "signingkey", "encryptionkey", "connectionstring", "bearer", "jwt",
}

// exact are whole names that promise a secret; as parts of others they would
// find too much.
var exact = map[string]bool{"pwd": true, "pass": true, "auth": true, "otp": true, "pin": true, "sid": true, "cvv": true, "cvc": true, "sig": true, "signature": true, "xauthkey": true}

// Secret reports whether a member, header or parameter of this name holds a
// secret by its name alone.
func Secret(name string) bool {
	name = fold(name)
	if exact[name] {
		return true
	}
	for _, part := range promising {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}

func (r *reader) secret(name string) bool {
	return Secret(name) || len(r.names) > 0 && r.names[fold(name)]
}

// holdsName reports whether a member tells the name of the one beside it.
func holdsName(name string) bool {
	switch fold(name) {
	case "name", "key", "header", "field", "param", "parameter":
		return true
	default:
		return false
	}
}

// holdsValue reports whether a member has the value of what is named beside it.
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

// fold returns the lower-case letters and digits of a name.
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
