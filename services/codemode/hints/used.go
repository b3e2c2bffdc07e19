package hints

import (
	"regexp"
	"strings"
)

// Member is a call in code: the name of a server there, and its function.
type Member struct{ Ident, Name string }

var (
	memberCalls = regexp.MustCompile(`([A-Za-z_$][\w$]*)\s*(?:\?\.|\.)\s*([A-Za-z_$][\w$]*)\s*(?:\?\.)?\(`)
	indexCalls  = regexp.MustCompile(`([A-Za-z_$][\w$]*)\s*\[\s*["']([^"'\\\n]{1,400})["']\s*\]\s*\(`)
	namedCalls  = regexp.MustCompile(`\bgateway\s*\.\s*(call|run)\s*\(\s*["']([^"'\\\n]{1,400})["']`)
)

// Used returns the calls in code of functions of names that the code doesn't
// declare, and for gateway.call and gateway.run the full names that it writes as
// texts. Names in comments and texts don't count.
func Used(code string) (members []Member, full []string) {
	s := newSource(code)
	add := func(ident, name string, at int) {
		if before := strings.TrimRight(s.masked[:at], " \t\r\n"); strings.HasSuffix(before, ".") && !strings.HasSuffix(before, "...") || at > 0 && isWord(s.masked[at-1]) || s.isBare(ident) {
			return
		}
		members = append(members, Member{ident, name})
	}
	for _, m := range memberCalls.FindAllStringSubmatchIndex(s.masked, -1) {
		if ident := s.masked[m[2]:m[3]]; ident != "gateway" {
			add(ident, s.masked[m[4]:m[5]], m[0])
		}
	}
	// Texts are blank in the masked code, so these match the code itself, at places
	// that are not blank.
	for _, m := range indexCalls.FindAllStringSubmatchIndex(code, -1) {
		if s.masked[m[2]:m[3]] == code[m[2]:m[3]] {
			add(code[m[2]:m[3]], code[m[4]:m[5]], m[0])
		}
	}
	for _, m := range namedCalls.FindAllStringSubmatchIndex(code, -1) {
		if s.masked[m[2]:m[3]] != code[m[2]:m[3]] {
			continue
		}
		name := code[m[4]:m[5]]
		if code[m[2]:m[3]] == "run" {
			name = "gateway__" + name
		}
		full = append(full, name)
	}
	return members, full
}
