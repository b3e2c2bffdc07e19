package redact

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"maps"
	"net/url"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"mcpgateway/services/rawjson"
)

// MinValue is the minimum length of secrets that Values removes, in bytes.
// Shorter ones would match unrelated texts.
const MinValue = 8

// Values removes known secrets from received data. A nil Values removes
// nothing. It is immutable.
type Values struct {
	inText []string // all encodings, longest first
	inJSON [][]byte // encodings inside a JSON string, longest first
}

// NewValues returns the Values for secrets of at least MinValue bytes. Each is
// found verbatim, as encoded by common JSON and URL encoders, and in base64 if
// nothing else was encoded with it.
func NewValues(secrets ...string) *Values {
	inText, inJSON := map[string]bool{}, map[string]bool{}
	for _, secret := range secrets {
		if len(secret) < MinValue {
			continue
		}
		encoded := base64.StdEncoding.EncodeToString([]byte(secret))
		unpadded := strings.TrimRight(encoded, "=")
		for _, text := range []string{secret, url.QueryEscape(secret), url.PathEscape(secret), unpadded, strings.NewReplacer("+", "-", "/", "_").Replace(unpadded)} {
			inText[text] = true
			for _, w := range writers {
				inJSON[w.write(text)] = true
				inText[w.write(text)] = true // texts may quote JSON
			}
		}
	}
	if len(inText) == 0 {
		return nil
	}
	v := &Values{inText: longestFirst(inText)}
	for _, text := range longestFirst(inJSON) {
		v.inJSON = append(v.inJSON, []byte(text))
	}
	return v
}

func longestFirst(texts map[string]bool) []string {
	return slices.SortedFunc(maps.Keys(texts), func(a, b string) int {
		return cmp.Or(len(b)-len(a), strings.Compare(a, b))
	})
}

// Text returns s without the secrets.
func (v *Values) Text(s string) string {
	if v == nil {
		return s
	}
	for _, spelling := range v.inText {
		s = strings.ReplaceAll(s, spelling, Placeholder)
	}
	return s
}

// JSON returns raw without the secrets, or raw itself if it has none. Valid
// JSON stays valid: a number that contains a secret becomes a string.
func (v *Values) JSON(raw []byte) []byte {
	if v == nil || !slices.ContainsFunc(v.inJSON, func(s []byte) bool { return bytes.Contains(raw, s) }) {
		return raw
	}
	if rawjson.Valid(raw, rawjson.Lenient) != nil {
		return []byte(v.Text(string(raw)))
	}
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); {
		start := i
		if raw[i] == '"' {
			i = stringEnd(raw, i)
			out = v.appendString(out, raw[start:i])
			continue
		}
		for i < len(raw) && raw[i] != '"' && isNumber(raw[i]) == isNumber(raw[start]) {
			i++
		}
		token := raw[start:i]
		if isNumber(raw[start]) && slices.ContainsFunc(v.inJSON, func(s []byte) bool { return bytes.Contains(token, s) }) {
			out = append(out, `"`+Placeholder+`"`...)
			continue
		}
		out = append(out, token...)
	}
	return out
}

// appendString appends a quoted string of valid JSON without the secrets. A
// match that starts within an escape sequence is ignored.
func (v *Values) appendString(dst, quoted []byte) []byte {
	for i := 0; i < len(quoted); {
		if n := v.at(quoted[i:]); n > 0 {
			dst = append(dst, Placeholder...)
			i += n
			continue
		}
		n := escapeLen(quoted[i:])
		dst = append(dst, quoted[i:i+n]...)
		i += n
	}
	return dst
}

// at returns the length of the secret at the start of b, or 0.
func (v *Values) at(b []byte) int {
	for _, s := range v.inJSON {
		if bytes.HasPrefix(b, s) {
			return len(s)
		}
	}
	return 0
}

// stringEnd returns the index after the string of valid JSON that starts at i.
func stringEnd(raw []byte, i int) int {
	for i++; raw[i] != '"'; {
		i += escapeLen(raw[i:])
	}
	return i + 1
}

// escapeLen returns the length of the escape sequence at the start of b, or 1.
func escapeLen(b []byte) int {
	switch {
	case b[0] != '\\':
		return 1
	case b[1] == 'u':
		return 6
	}
	return 2
}

// isNumber reports whether c can be part of a number.
func isNumber(c byte) bool {
	return '0' <= c && c <= '9' || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E'
}

// writer is an encoder's way to write JSON strings.
type writer struct {
	slash   bool   // as \/
	escaped string // these characters as \u sequences
	ascii   bool   // all other characters beyond ASCII too
	digits  string // hexadecimal
}

const (
	lower = "0123456789abcdef"
	upper = "0123456789ABCDEF"
)

// writers are those of the common languages.
var writers = [...]writer{
	{},                              // JavaScript, Rust
	{escaped: "<>&", digits: lower}, // Go
	{ascii: true, digits: lower},    // Python
	{slash: true, ascii: true, digits: lower}, // PHP
	{slash: true}, // PHP with JSON_UNESCAPED_UNICODE, Ruby on request
	{escaped: "\"&'+<>`", ascii: true, digits: upper}, // .NET
}

// write returns s as the writer encodes it, without the quotes.
func (w writer) write(s string) string {
	var out []byte
	for _, r := range s {
		switch {
		case strings.ContainsRune(w.escaped, r) || w.ascii && r >= utf8.RuneSelf:
			for _, unit := range utf16.Encode([]rune{r}) {
				out = append(out, '\\', 'u', w.digits[unit>>12], w.digits[unit>>8&15], w.digits[unit>>4&15], w.digits[unit&15])
			}
		case r == '/' && w.slash:
			out = append(out, '\\', '/')
		default:
			quoted := rawjson.Quote(string(r))
			out = append(out, quoted[1:len(quoted)-1]...)
		}
	}
	return string(out)
}
