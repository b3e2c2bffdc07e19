package projects

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"mcpgateway/services/declaration"
	"mcpgateway/services/fault"
	"mcpgateway/services/toolset"
)

// Maximum lengths of derived names, in bytes. Tool names start with an alias.
const (
	maxDerivedSlug  = 60 // leaves room for a number
	maxDerivedAlias = 32
)

// SlugFor returns the entered slug, or else the one derived from the name. It returns
// VALIDATION_FAILED with the problem of the field if the name gives none.
func SlugFor(field, entered, name string) (string, error) {
	if entered != "" {
		return entered, nil
	}
	if slug := derived(name, 64); slug != "" {
		return slug, nil
	}
	return "", fault.Validation(map[string]string{field: "enter a slug: the name has no Latin letters or digits for one"})
}

// FreeSlug returns a slug that is not taken, derived from the first name that
// allows one.
func FreeSlug(taken func(slug string) bool, names ...string) string {
	for _, name := range names {
		if base := derived(name, maxDerivedSlug); base != "" {
			return firstFree(base, taken)
		}
	}
	return firstFree("", taken)
}

// FreeAliasIn returns an alias that no server of a project has, derived from a name.
func FreeAliasIn(p *toolset.Snapshot, name string) string {
	return FreeAlias(func(alias string) bool {
		return slices.ContainsFunc(p.Servers, func(s *toolset.Server) bool { return s.Config.AliasFold == alias })
	}, name)
}

// FreeAlias returns an alias that is not taken, derived from a name.
func FreeAlias(taken func(alias string) bool, name string) string {
	base := derived(name, maxDerivedAlias)
	if base == "" || base == declaration.ReservedAlias {
		base = "server"
	}
	return firstFree(base, taken)
}

func firstFree(base string, taken func(string) bool) string {
	name := base
	for n := 2; taken(name); n++ {
		name = base + "-" + strconv.Itoa(n)
	}
	return name
}

// latin replaces letters of Latin scripts that have no decomposition.
var latin = strings.NewReplacer("ß", "ss", "æ", "ae", "œ", "oe", "ø", "o", "ł", "l", "đ", "d", "ð", "d", "þ", "th", "ı", "i")

// derived returns a name in lower case, with hyphens for everything except
// letters without their marks and digits, truncated to most bytes.
func derived(name string, most int) string {
	var b strings.Builder
	for _, r := range norm.NFKD.String(latin.Replace(strings.ToLower(name))) {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			b.WriteRune(r)
		case unicode.Is(unicode.Mn, r):
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	s := b.String()
	return strings.Trim(s[:min(len(s), most)], "-")
}
