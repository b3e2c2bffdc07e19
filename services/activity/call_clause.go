package activity

import (
	"strings"
	"time"
	"unicode/utf8"

	"mcpgateway/models"
	"mcpgateway/services/fault"
)

// CallField is the field of a clause.
type CallField string

// The fields of clauses. CallWords finds substrings of the tool's name,
// server's alias, error code and request id, case-insensitive. The others match
// whole values, the alias case-insensitive. CallServer also accepts
// ServerBuiltin and ServerNone. CallSlower has one value, a duration of
// time.ParseDuration, and finds calls that took at least as long.
const (
	CallWords     CallField = "words"
	CallTool      CallField = "tool"
	CallServer    CallField = "server"
	CallOutcome   CallField = "outcome"
	CallPrincipal CallField = "principal"
	CallSlower    CallField = "slower"
)

// Pseudo servers in clauses and statistics for calls without a server. No
// server can have these aliases: one is reserved, the other is invalid.
const (
	// ServerBuiltin is the pseudo server of built-in tools.
	ServerBuiltin = "gateway"
	// ServerNone is the pseudo server of calls that reached no server, such as
	// calls of unknown tools.
	ServerNone = "(none)"
)

// builtinPrefix is the name prefix of built-in tools.
const builtinPrefix = "gateway_"

// ServerOf returns the alias of a call's server, ServerBuiltin or ServerNone.
// Unknown tools don't count as built-in, whatever their name.
func ServerOf(call models.Call) string {
	switch {
	case call.Server != "":
		return call.Server
	case strings.HasPrefix(call.Tool, builtinPrefix) && call.Code != string(fault.CodeToolNotFound):
		return ServerBuiltin
	}
	return ServerNone
}

// ServerColumn is ServerOf in SQL, in lower case.
const ServerColumn = "CASE WHEN server <> '' THEN lower(server)" +
	" WHEN substr(tool, 1, length('" + builtinPrefix + "')) = '" + builtinPrefix + "' AND code <> '" + string(fault.CodeToolNotFound) + "' THEN '" + ServerBuiltin + "'" +
	" ELSE '" + ServerNone + "' END"

// CallClause matches calls with one of the values or, with Not, calls with none
// of them.
type CallClause struct {
	Field  CallField
	Values []string
	Not    bool
}

// sql returns the condition of the clause. It returns INVALID_PARAMETER for a
// value that no call can have.
func (c CallClause) sql() (condition string, values []any, err error) {
	for _, value := range c.Values {
		if utf8.RuneCountInString(value) > MaxField || !utf8.ValidString(value) || strings.ContainsRune(value, 0) {
			return "", nil, fault.Invalid("%s must be text of at most %d characters.", c.Field, MaxField)
		}
	}
	switch {
	case len(c.Values) == 0:
		condition = "1 = 0" // no values match nothing
	case c.Field == CallWords:
		condition, values = containing(c.Values)
	case c.Field == CallSlower:
		least, err := time.ParseDuration(c.Values[0])
		if err != nil || len(c.Values) > 1 {
			return "", nil, fault.Invalid("%s must be one duration.", c.Field)
		}
		condition, values = "duration_us >= ?", []any{least.Microseconds()}
	default:
		column, list := string(c.Field), c.Values
		if c.Field == CallServer {
			column, list = ServerColumn, lowered(c.Values)
		}
		condition, values = column+" IN ?", []any{list}
	}
	if c.Not {
		condition = "NOT (" + condition + ")"
	}
	return condition, values, nil
}

// containing returns the condition that one of the texts is a substring.
func containing(texts []string) (condition string, values []any) {
	var parts []string
	for _, text := range lowered(texts) {
		pattern := "%" + strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`).Replace(text) + "%"
		for _, column := range []string{"tool", "server", "code", "request_id"} {
			parts = append(parts, "lower("+column+`) LIKE ? ESCAPE '\'`)
			values = append(values, pattern)
		}
	}
	return "(" + strings.Join(parts, " OR ") + ")", values
}

func lowered(texts []string) []string {
	list := make([]string, len(texts))
	for i, text := range texts {
		list[i] = strings.ToLower(text)
	}
	return list
}
