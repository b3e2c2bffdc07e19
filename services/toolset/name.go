// Package toolset builds the immutable set of tools that clients of a project
// can list and call: names, filters and definitions.
package toolset

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode/utf8"
)

// Separator separates the alias of a server from the name of its tool. Aliases
// never contain it, so names are split at its first occurrence.
const Separator = "__"

// The names of the built-in tools (specification, "Built-in tool …"). No other
// tool is listed with one of them.
const (
	BuiltinSearch  = "gateway_searchMcpForTask"
	BuiltinExecute = "gateway_executeTool"
	BuiltinList    = "gateway_listTools"
	BuiltinRead    = "gateway_readResult"
)

// GatewayAlias is the alias of the gateway itself. Its tools are the recipes of
// the project. No server can have it.
const GatewayAlias = "gateway"

// Builtins returns the names of the built-in tools.
func Builtins() []string { return []string{BuiltinSearch, BuiltinExecute, BuiltinList, BuiltinRead} }

// hashSuffix is the length of the suffix of shortened names: an underscore and
// 8 hexadecimal digits.
const hashSuffix = 9

// JoinName returns the exported name of a server's tool (specification,
// "What the service does", rule 2).
func JoinName(alias, tool string) string { return alias + Separator + tool }

// SplitName splits an exported name at its first separator. ok is false if it
// has none or one side is empty.
func SplitName(name string) (alias, tool string, ok bool) {
	alias, tool, ok = strings.Cut(name, Separator)
	return alias, tool, ok && alias != "" && tool != ""
}

// ShortenName returns name if it fits limit bytes (0 means unlimited), and
// otherwise a prefix with a hash of the whole name.
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
