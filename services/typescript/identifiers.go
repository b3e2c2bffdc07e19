package typescript

import (
	"strconv"
	"strings"

	"mcpgateway/services/schema"
)

// Identifier returns the JavaScript identifier under which code finds the
// tools of the server with the alias (specification, "Built-in tool
// gateway_listTools"). An alias that is a safe identifier keeps its name; any
// other is encoded so that no two aliases share an identifier and the alias
// can be read back. It depends on nothing but the alias, so a new alias never
// changes another one's identifier. Invalid UTF-8 is read as U+FFFD.
func Identifier(alias string) string {
	if schema.IsPlainIdentifier(alias) && !isReserved(alias) && !strings.HasPrefix(alias, "__") {
		return alias
	}
	encoded := escapeIdentifier(alias)
	if alias != "" && schema.IsDigit(alias[0]) {
		return "$n" + encoded
	}
	if encoded == alias {
		// Nothing was escaped: a reserved word, a leading __ or nothing at all.
		return encoded + "$"
	}
	return encoded
}

// escapeIdentifier replaces every character that an identifier cannot hold. A
// dollar sign begins each replacement and is itself replaced, so the result
// tells where one ends.
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
