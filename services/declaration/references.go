package declaration

import (
	"fmt"
	"path"
	"strings"
)

// filePrefix precedes the path in a reference to a file.
const filePrefix = "file:"

// references returns the field of globs of references, without ${ and }.
func (r *reader) references(dst **[]string) field {
	list := r.strings(dst, MaxSecretRefs, MaxPattern)
	check := func(at string) {
		list.check(at)
		if *dst == nil {
			return
		}
		for i, glob := range **dst {
			if why := checkReferences(glob); why != "" {
				r.problem(fmt.Sprintf("%s[%d]", at, i), why)
				*dst = nil
				return
			}
		}
	}
	return field{check: check, value: list.value, read: func(at string, raw []byte) {
		list.read(at, raw)
		check(at)
	}}
}

// checkReferences returns the problem of a glob of references, or "".
func checkReferences(glob string) string {
	if file, ok := strings.CutPrefix(glob, filePrefix); ok {
		if !strings.HasPrefix(file, "/") || path.Clean(file) != file {
			return "use an absolute path without . and .., such as file:/run/secrets/team-a/*"
		}
		return ""
	}
	if strings.ContainsAny(glob, "${}") {
		return "write the name without ${ and }, such as TEAM_A_*"
	}
	plain := func(r rune) bool {
		return r == '_' || r == '*' || r == '?' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z'
	}
	if glob == "" || strings.TrimLeftFunc(glob, plain) != "" {
		return "use letters, digits, _, * and ?, such as TEAM_A_*, or file: and a path"
	}
	return ""
}
