package public

import (
	"strings"

	"mcpgateway/services/fault"
	"mcpgateway/services/nearest"
	"mcpgateway/services/query"
	"mcpgateway/views/ui"
)

// queryError returns the description of an invalid query and, if there is an
// obvious correction, a link to the corrected query.
func queryError(grammar query.Grammar, path, text string, f *fault.Fault) *ui.QueryError {
	e := &ui.QueryError{Message: f.Message}
	if f.Span == nil {
		return e
	}
	e.Start, e.End = f.Span.Start, f.Span.End
	runes := []rune(text)
	if e.Start < 0 || e.End > len(runes) || e.Start > e.End {
		return e
	}
	clause := string(runes[e.Start:e.End])
	mended := suggestFix(grammar, f.Code, clause)
	if mended == clause {
		return e
	}
	whole := strings.Join(strings.Fields(string(runes[:e.Start])+" "+mended+" "+string(runes[e.End:])), " ")
	if strings.ContainsAny(text, "\"") {
		// White space in quotes is preserved.
		whole = strings.TrimSpace(string(runes[:e.Start]) + mended + string(runes[e.End:]))
	}
	if _, err := grammar.Parse(whole); err != nil {
		return e
	}
	e.FixURL, e.FixLabel = address(path, whole), "Search for "+ui.Clean(whole)
	if whole == "" {
		e.FixLabel = "Search without it"
	}
	return e
}

// suggestFix returns the probable correction of the clause, or the clause itself.
func suggestFix(grammar query.Grammar, code fault.Code, clause string) string {
	bare := strings.TrimPrefix(clause, "-")
	sign := clause[:len(clause)-len(bare)]
	name, value, _ := strings.Cut(bare, ":")
	switch code {
	case fault.CodeUnknownQualifier, fault.CodeUnsupportedQualifier:
		if near := nearQualifier(grammar, strings.ToLower(name)); near != "" {
			return sign + near + ":" + value
		}
		if !strings.HasSuffix(bare, `"`) {
			return sign + `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(bare) + `"`
		}
	case fault.CodeUnterminatedQuote:
		return clause + `"`
	case fault.CodeInvalidValue:
		switch strings.ToLower(strings.Trim(value, `"`)) {
		case "yes", "y", "1", "on", "t":
			return sign + name + ":true"
		case "no", "n", "0", "off", "f":
			return sign + name + ":false"
		}
		return ""
	case fault.CodeEmptyValue, fault.CodeDanglingNegation:
		return ""
	}
	return clause
}

// nearQualifier returns the qualifier within an edit distance of 2, or "".
func nearQualifier(grammar query.Grammar, name string) string {
	const most = 2
	best, at := "", most+1
	for candidate, kind := range grammar.Qualifiers {
		if kind == query.Fixed || len(name) > len(candidate)+most {
			continue
		}
		if d := nearest.Distance(name, candidate); d < at || d == at && candidate < best {
			best, at = candidate, d
		}
	}
	// A short name is close to everything.
	if at > len(name)/2 {
		return ""
	}
	return best
}
