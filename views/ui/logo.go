package ui

import (
	_ "embed"
	"net/url"
	"strings"
	"sync"
	"unicode"
)

// logoLines has one product a line: its names, a tab and the path of its logo
// in a square of 24 (simple-icons, CC0). A name that ends in "!" is also an
// ordinary word and stands for the product only when it is the whole name.
//
//go:embed logos/logos.txt
var logoLines string

// logo is the logo of a product.
type logo struct {
	path  string
	whole bool // only for the whole name
}

// logos returns the logos by the names of their products.
var logos = sync.OnceValue(func() map[string]logo {
	all := map[string]logo{}
	for line := range strings.Lines(logoLines) {
		names, path, _ := strings.Cut(strings.TrimSpace(line), "\t")
		for _, name := range strings.Fields(names) {
			word, whole := strings.CutSuffix(name, "!")
			all[word] = logo{path: path, whole: whole}
		}
	}
	return all
})

// generic has the words of a server's name that name no product.
var generic = map[string]bool{
	"mcp": true, "server": true, "local": true, "remote": true, "api": true, "official": true, "docs": true, "cloud": true, "hosted": true,
	"prod": true, "production": true, "staging": true, "dev": true, "test": true, "eu": true, "us": true, "the": true, "my": true, "com": true, "io": true,
}

// maxLogoName is the length of a name that is looked up, in bytes.
const maxLogoName = 200

// LogoPath returns the path of the logo of the product that a name begins with:
// the title or alias of a server, a host or a URL. It is "" for an unknown one.
func LogoPath(name string) string {
	if len(name) > maxLogoName {
		return ""
	}
	if host := hostOf(name); host != "" {
		return hostLogo(host)
	}
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	if l, ok := logos()[strings.Join(words, "")]; ok {
		return l.path
	}
	named := words[:0:0]
	for _, w := range words {
		if !generic[w] {
			named = append(named, w)
		}
	}
	for n := len(named); n > 0; n-- {
		if l, ok := logos()[strings.Join(named[:n], "")]; ok && (n == len(named) || !l.whole) {
			return l.path
		}
	}
	return ""
}

// hostOf returns the host of a URL or of a name that looks like a host, or "".
func hostOf(name string) string {
	if u, err := url.Parse(name); err == nil && (u.Scheme == "https" || u.Scheme == "http") {
		return strings.ToLower(u.Hostname())
	}
	if strings.Count(name, ".") > 0 && !strings.ContainsAny(name, " /") {
		return strings.ToLower(name)
	}
	return ""
}

// hostLogo returns the logo of the domain that a host belongs to.
func hostLogo(host string) string {
	labels := strings.Split(host, ".")
	for i := len(labels) - 1; i >= 0; i-- {
		if i == len(labels)-1 && len(labels) > 1 {
			continue // the top-level domain
		}
		if l, ok := logos()[labels[i]]; ok {
			return l.path
		}
	}
	return ""
}
