package schema

import (
	"regexp/syntax"
	"slices"
	"strings"
)

// usable reports whether a pattern means the same here as in ECMA-262, as far
// as its syntax shows, and fits in the limit.
func (z *normalizer) usable(pattern string) bool {
	if !isPortable(pattern) {
		return false
	}
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return false
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil || z.steps+len(program.Inst) > maxPatternSteps {
		return false
	}
	z.steps += len(program.Inst)
	return true
}

// isPortable reports whether a pattern is short and uses only syntax with the
// same meaning in both dialects of regular expressions.
func isPortable(pattern string) bool {
	if pattern == "" || len(pattern) > 4*MaxTagText {
		return false
	}
	for _, own := range [...]string{`\A`, `\z`, `\Q`, `\E`, `\C`, `\a`, `\p`, `\P`, `\x{`, `[:`, "(?P", "(?i", "(?s", "(?m", "(?U", "(?-"} {
		if strings.Contains(pattern, own) {
			return false
		}
	}
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	return err == nil && !repeatsNothing(parsed)
}

// repeatsNothing reports whether an assertion is repeated, such as in ^*, which
// ECMA-262 doesn't allow.
func repeatsNothing(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest, syntax.OpRepeat:
		switch re.Sub[0].Op {
		case syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
			return true
		}
	}
	return slices.ContainsFunc(re.Sub, repeatsNothing)
}
