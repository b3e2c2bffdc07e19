package declaration

import (
	"strings"
	"testing"
	"unicode/utf8"

	"mcpgateway/services/toolset"
)

// FuzzNamespace checks that no two tools of one project share an exported name:
// a valid alias can be split off for any tool name, and shortened names stay
// within their limit.
func FuzzNamespace(f *testing.F) {
	for _, seed := range [][4]string{
		{"github", "create_issue", "git", "hub__create_issue"}, {"a", "_x", "a", "__x"}, {"a_b", "c", "a", "b_c"}, {"gateway", "executeTool", "Gateway", "x"},
		{"a.b-c", "日本", "a", "\xff"}, {"", "", "__", "a__"}, {strings.Repeat("a", 64), strings.Repeat("ü", 100), "a\n", "x"},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3], 64)
	}
	f.Fuzz(func(t *testing.T, alias, tool, otherAlias, otherTool string, limit int) {
		name := toolset.JoinName(alias, tool)
		if CheckAlias(alias) == "" {
			if len(alias) > 64 || !utf8.ValidString(alias) || strings.EqualFold(alias, "gateway") || strings.ContainsAny(alias, " \t\r\n/\"<>&") {
				t.Fatalf("CheckAlias(%q) reported no problem", alias)
			}
			gotAlias, gotTool, ok := toolset.SplitName(name)
			if ok != (tool != "") || gotAlias != alias || gotTool != tool {
				t.Fatalf("%q and %q became %q and %q, %t", alias, tool, gotAlias, gotTool, ok)
			}
			if CheckAlias(otherAlias) == "" && toolset.JoinName(otherAlias, otherTool) == name && (otherAlias != alias || otherTool != tool) {
				t.Fatalf("%q of %q and %q of %q have the same name %q", tool, alias, otherTool, otherAlias, name)
			}
		}
		short := toolset.ShortenName(name, limit)
		switch {
		case limit <= 0 || len(name) <= limit:
			if short != name {
				t.Fatalf("%q fits in %d but became %q", name, limit, short)
			}
		case limit >= 9 && len(short) > limit, utf8.ValidString(name) && !utf8.ValidString(short), short != toolset.ShortenName(name, limit):
			t.Fatalf("%q became %q with the limit %d", name, short, limit)
		}
	})
}

// FuzzDeclaration checks that a declarative file is either parsed or rejected
// with a fault that has a path.
func FuzzDeclaration(f *testing.F) {
	for _, seed := range []string{
		`{"projects":{"p":{"authMode":"none","codeMode":{"enabled":true},"mcpServers":{"a":{"url":"http://x"}}}}}`, `{"mcpServers":{"a":{"type":"http","serverUrl":"http://x"}}}`,
		`{"mcpServers":{"a":{"command":"x"}}}`, `{"projects":{"p":{"rateLimit":{"perSecond":1e308,"burst":-1}}}}`, `{"projects":[]}`, `{`, `{"projects":{"p":null}}`, `{"projects":{"p":{},"p":{}}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		d, err := Parse(raw)
		if err != nil {
			if d != nil || err.Error() == "" {
				t.Fatalf("%q: %v, %v", raw, d, err)
			}
			return
		}
		for slug, project := range d.Projects {
			if CheckSlug(slug) != "" || project == nil {
				t.Fatalf("%q: the project %q is %v", raw, slug, project)
			}
			for alias, server := range project.Servers {
				if CheckAlias(alias) != "" || server == nil {
					t.Fatalf("%q: the server %q is %v", raw, alias, server)
				}
			}
		}
	})
}
