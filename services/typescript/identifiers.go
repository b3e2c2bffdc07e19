package typescript

import (
	"strconv"
	"strings"

	"mcpgateway/services/schema"
)

// Identifier returns the JavaScript identifier of the server with the alias
// (specification, "Built-in tool gateway_listTools"). A safe identifier stays
// as it is. Any other alias is encoded reversibly, so no two aliases share an
// identifier. The result depends only on the alias, so a new alias never
// changes another identifier. Invalid UTF-8 counts as U+FFFD.
func Identifier(alias string) string {
	if schema.IsPlainIdentifier(alias) && !isReserved(alias) && !strings.HasPrefix(alias, "__") {
		return alias
	}
	encoded := escapeIdentifier(alias)
	if alias != "" && schema.IsDigit(alias[0]) {
		return "$n" + encoded
	}
	if encoded == alias {
		// Nothing was escaped: a reserved word, a leading __ or an empty alias.
		return encoded + "$"
	}
	return encoded
}

// escapeIdentifier replaces every character that an identifier can't contain.
// Each replacement starts with a dollar sign, which is itself replaced, so the
// result is unambiguous.
func escapeIdentifier(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '_' || r < 0x80 && (schema.IsDigit(byte(r)) || schema.IsLetter(byte(r))):
			b.WriteRune(r)
		case r == '-':
			b.WriteString("$_")
		case r == '.':
			b.WriteString("$o")
		case r == '/':
			b.WriteString("$s")
		default:
			b.WriteString("$u" + strconv.FormatInt(int64(r), 16) + "$")
		}
	}
	return b.String()
}

// AliasOf returns the alias whose Identifier is ident. ok is false for a name
// that is not an identifier of an alias, such as one of the language.
func AliasOf(ident string) (alias string, ok bool) {
	alias = strings.TrimPrefix(ident, "$n")
	alias = strings.NewReplacer("$_", "-", "$o", ".").Replace(alias)
	for _, candidate := range []string{alias, strings.TrimSuffix(alias, "$")} {
		if candidate != "" && Identifier(candidate) == ident {
			return candidate, true
		}
	}
	return "", false
}
