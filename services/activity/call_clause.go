package activity

import (
	"strings"
	"unicode/utf8"

	"mcpgateway/models"
	"mcpgateway/services/fault"
)

// CallField is what a clause looks at.
type CallField string

// The fields of clauses. CallWords finds a part of the tool's name, the
// server's alias, the failure's code or the request's id, in any case; the
// others are compared as a whole, the alias in any case; CallServer also takes
// ServerBuiltin and ServerNone.
const (
	CallWords     CallField = "words"
	CallTool      CallField = "tool"
	CallServer    CallField = "server"
	CallOutcome   CallField = "outcome"
	CallPrincipal CallField = "principal"
)

// What stands for a server, in clauses and statistics, where calls name none.
// No server has such an alias: the one is reserved, the other cannot be one.
const (
	// ServerBuiltin are the gateway's own tools.
	ServerBuiltin = "gateway"
	// ServerNone is of calls that reached no server, such as those of unknown
	// tools.
	ServerNone = "(none)"
)

// builtinPrefix begins the names of built-in tools.
const builtinPrefix = "gateway_"

// ServerOf returns the alias of the server that a call was for, ServerBuiltin
// or ServerNone. A tool that is not known is none of the built-in ones,
// whatever its name.
func ServerOf(call models.Call) string {
	switch {
	case call.Server != "":
		return call.Server
	case strings.HasPrefix(call.Tool, builtinPrefix) && call.Code != string(fault.CodeToolNotFound):
		return ServerBuiltin
	}
	return ServerNone
}

// serverColumn is ServerOf in SQL, in lower case.
const serverColumn = "CASE WHEN server <> '' THEN lower(server)" +
	" WHEN substr(tool, 1, length('" + builtinPrefix + "')) = '" + builtinPrefix + "' AND code <> '" + string(fault.CodeToolNotFound) + "' THEN '" + ServerBuiltin + "'" +
	" ELSE '" + ServerNone + "' END"

// CallClause holds for calls that have one of the values; with Not, for those
// that have none of them.
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
			return "", nil, fault.Invalid("%s must be at most %d characters of text", c.Field, MaxField)
		}
	}
	switch {
	case len(c.Values) == 0:
		condition = "1 = 0" // none of nothing
	case c.Field == CallWords:
		condition, values = containing(c.Values)
	default:
		column, list := string(c.Field), c.Values
		if c.Field == CallServer {
			column, list = serverColumn, lowered(c.Values)
		}
		condition, values = column+" IN ?", []any{list}
	}
	if c.Not {
		condition = "NOT (" + condition + ")"
	}
	return condition, values, nil
}

// containing returns the condition that one of the texts is found.
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
