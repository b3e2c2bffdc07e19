// Package toolset keeps, for every project, the immutable inventory of tools
// that clients see and call: names, filters and definitions.
package toolset

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode/utf8"
)

// Separator stands between the alias of a server and the name of its tool. An
// alias never contains it, so the first one always splits a name correctly.
const Separator = "__"

// hashSuffix is the length of the marker that keeps shortened names apart:
// an underscore and eight hexadecimal digits.
const hashSuffix = 9

// JoinName returns the exported name of a server's tool (specification,
// "What the service does", rule 2).
func JoinName(alias, tool string) string { return alias + Separator + tool }

// SplitName splits an exported name at its first separator; ok is false when
// it has none or one side is empty.
func SplitName(name string) (alias, tool string, ok bool) {
	alias, tool, ok = strings.Cut(name, Separator)
	return alias, tool, ok && alias != "" && tool != ""
}

// ShortenName returns name as it is when it fits limit bytes (0 is no limit),
// else its beginning and a hash of the whole, which depends on nothing but
// the name and so stays the same.
func ShortenName(name string, limit int) string {
	if limit <= 0 || len(name) <= limit {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	head := name[:max(limit-hashSuffix, 0)]
	for !utf8.ValidString(head) {
		head = head[:len(head)-1]
	}
	return head + "_" + hex.EncodeToString(sum[:])[:hashSuffix-1]
}
