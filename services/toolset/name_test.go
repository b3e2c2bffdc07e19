package toolset

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestSplitName(t *testing.T) {
	for _, tc := range []struct {
		name, alias, tool string
		ok                bool
	}{
		{"github__create_issue", "github", "create_issue", true},
		{"a____x", "a", "__x", true},
		{"a___x", "a", "_x", true},
		{"a__b__c", "a", "b__c", true},
		{"echo", "echo", "", false},
		{"a__", "a", "", false},
		{"__x", "", "x", false},
		{"", "", "", false},
		{"a_b", "a_b", "", false},
	} {
		alias, tool, ok := SplitName(tc.name)
		if ok != tc.ok || ok && (alias != tc.alias || tool != tc.tool) {
			t.Errorf("SplitName(%q) = %q, %q, %v", tc.name, alias, tool, ok)
		}
	}
}

func TestJoinedNamesSplitBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		alias := rapid.StringMatching(`[A-Za-z0-9]([A-Za-z0-9.-]{0,20}[A-Za-z0-9])?`).Draw(t, "alias")
		tool := rapid.StringMatching(`[A-Za-z0-9_./-]{1,30}`).Draw(t, "tool")
		a, b, ok := SplitName(JoinName(alias, tool))
		if !ok || a != alias || b != tool {
			t.Fatalf("SplitName(JoinName(%q, %q)) = %q, %q, %v", alias, tool, a, b, ok)
		}
	})
}

func TestShortenedNamesFitAndDiffer(t *testing.T) {
	name := strings.Repeat("a", 63)
	if got := ShortenName(name+"b", 64); got != name+"b" {
		t.Errorf("ShortenName() changed a name of 64 bytes: %q", got)
	}
	long := name + "bc"
	got := ShortenName(long, 64)
	if len(got) != 64 || got == long[:64] || got != ShortenName(long, 64) {
		t.Errorf("ShortenName() of 65 bytes = %q", got)
	}
	if ShortenName(long, 64) == ShortenName(name+"bd", 64) {
		t.Error("two long names have the same short name")
	}
	if got := ShortenName(long, 0); got != long {
		t.Errorf("ShortenName() with limit 0 = %q", got)
	}
	if got := ShortenName(strings.Repeat("ü", 40), 64); !strings.HasPrefix(got, "ü") || len(got) > 64 || strings.ContainsRune(got, '\uFFFD') {
		t.Errorf("ShortenName() split a character: %q", got)
	}
}

func TestFilterPatterns(t *testing.T) {
	for _, tc := range []struct {
		name        string
		allow, deny []string
		tool        string
		want        bool
	}{
		{"no patterns", nil, nil, "x", true},
		{"empty lists", []string{}, []string{}, "x", true},
		{"anchored at the start", []string{"b*"}, nil, "ab", false},
		{"anchored at the end", []string{"*a"}, nil, "ab", false},
		{"case-sensitive", []string{"Get*"}, nil, "get_x", false},
		{"question mark is one character", []string{"a?c"}, nil, "aüc", true},
		{"question mark doesn't match nothing", []string{"ab?"}, nil, "ab", false},
		{"star matches nothing", []string{"ab*"}, nil, "ab", true},
		{"several stars", []string{"*get*issue*"}, nil, "x_get_my_issue", true},
		{"brackets are literal", []string{"[ab]"}, nil, "a", false},
		{"deny beats allow", []string{"*"}, []string{"delete_*"}, "delete_x", false},
		{"deny alone", nil, []string{"delete_*"}, "get_x", true},
		{"second pattern", []string{"a", "b"}, nil, "b", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := NewFilter(tc.allow, tc.deny).Allows(tc.tool); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

func TestGlobCost(t *testing.T) {
	// A backtracking matcher would practically never finish.
	if matchGlob(strings.Repeat("a*", 40)+"b", strings.Repeat("a", 5000)) {
		t.Error("matched without the last letter")
	}
}

func TestPatternsMatchLikeFilters(t *testing.T) {
	names := []string{"", "a", "ab", "up__get_it", "up__delete_it", "up__delete_it__delete_it", "日本__x", "é", "aéb"}
	for _, pattern := range []string{"*", "**", "a", "a*", "*a", "*b", "up__*", "*__delete_*", "*_it*_it", "up__get_?t", "*??", "?", "日*", "*é*", "a?b", "*get*delete*", "up__get_itup__get_it*"} {
		prepared := NewPatterns([]string{"nothing", pattern})
		for _, name := range names {
			if got, want := prepared.Match(name), NewFilter([]string{pattern}, nil).Allows(name); got != want {
				t.Errorf("%q matches %q: %t, want %t", pattern, name, got, want)
			}
		}
	}
	if none := NewPatterns(nil); none.Match("a") {
		t.Error("no pattern matches")
	}
}

func TestManyPatternsMatchLikeFilters(t *testing.T) {
	text := rapid.StringMatching(`[ab_é]{0,12}`)
	pattern := rapid.StringMatching(`[ab_é*?]{0,12}`)
	rapid.Check(t, func(t *rapid.T) {
		patterns := rapid.SliceOfN(pattern, 1, 30).Draw(t, "patterns")
		prepared, filter := NewPatterns(patterns), NewFilter(patterns, nil)
		for range 20 {
			name := text.Draw(t, "name")
			if got, want := prepared.Match(name), filter.Allows(name); got != want {
				t.Fatalf("%q match %q: %t, want %t", patterns, name, got, want)
			}
		}
	})
}
