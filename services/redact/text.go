package redact

import (
	"regexp"
	"strings"
)

// secretPatterns are the formats of secrets in texts. Matches are replaced completely.
var secretPatterns = regexp.MustCompile(strings.Join([]string{
	`gw[a-z]{1,3}_[0-9A-Za-z]{6,}`,                               // keys and tokens of the gateway
	`eyJ[A-Za-z0-9_-]{10,}(?:\.[A-Za-z0-9_-]*){0,4}`,             // JSON Web Tokens (RFC 7519)
	`gh[pousr]_[A-Za-z0-9]{16,}`, `github_pat_[A-Za-z0-9_]{16,}`, // prefixes of providers
	`glpat-[A-Za-z0-9_-]{12,}`, `xox[a-z]-[A-Za-z0-9-]{8,}`, `\bsk-[A-Za-z0-9_-]{16,}`, `\b[srp]k_(?:live|test)_[A-Za-z0-9]{8,}`,
	`\bA(?:KIA|SIA)[0-9A-Z]{16}`, `AIza[0-9A-Za-z_-]{20,}`, `\bnpm_[A-Za-z0-9]{20,}`, `\bya29\.[A-Za-z0-9_-]{10,}`,
	`(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)`,
}, "|"))

// Patterns of secrets after a prefix that is preserved.
var (
	schemes  = regexp.MustCompile(`(?i)\b(bearer)(\s+)[A-Za-z0-9._~+/=-]{6,}`)
	userinfo = regexp.MustCompile(`(://)[^/\s:@]*:[^/\s@]+(@)`)
	// The whole line, because a cookie has several parts.
	lines = regexp.MustCompile(`(?i)((?:set-)?cookie|(?:proxy-)?authorization)(["'\\]*\s*[:=]\s*)[^\r\n]+`)
	named = regexp.MustCompile(`([A-Za-z0-9_.-]{1,128})\\*["']?\s*[:=]\s*`)
	value = regexp.MustCompile(`^(?:\\+["'][^"'\\]*|"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?|[^\s,;&"'<>{}\[\]]+)`)
)

// plain returns a text without texts that look like secrets.
func (r *redactor) plain(s string) string {
	s = secretPatterns.ReplaceAllString(s, Placeholder)
	s = schemes.ReplaceAllString(s, "${1}${2}"+Placeholder)
	s = userinfo.ReplaceAllString(s, "${1}"+Placeholder+"${2}")
	s = lines.ReplaceAllString(s, "${1}${2}"+Placeholder)
	return r.pairs(s)
}

// pairs returns a text without the values after secret names, as in password=…
// and "token": "…".
func (r *redactor) pairs(s string) string {
	var b strings.Builder
	for rest := s; ; {
		at := named.FindStringSubmatchIndex(rest)
		if at == nil {
			b.WriteString(rest)
			return b.String()
		}
		name := rest[at[2]:at[3]]
		b.WriteString(rest[:at[1]])
		rest = rest[at[1]:]
		if !r.secret(name) {
			continue
		}
		if secret := value.FindString(rest); secret != "" {
			b.WriteString(Placeholder)
			rest = rest[len(secret):]
		}
	}
}

// Text returns a text of a program without anything that looks like a secret.
func Text(s string) string { return (&redactor{}).plain(s) }
