package sources_test

import (
	"strings"
	"testing"

	"mcpgateway/services/catalog/sources"
)

// TestConforms has the limits. `make conformance` compares the whole format with
// the published schema.
func TestConforms(t *testing.T) {
	server := func(description, members string) string {
		return `{"name":"com.example/a","description":"` + description + `","version":"1"` + members + `}`
	}
	icon := `,"icons":[{"src":"https://a.example/ICON"}]`
	for _, tc := range []struct {
		document string
		want     bool
	}{
		{server("x", ""), true},
		{server("x", `,"other":1`), true},
		{server("", ""), false},
		{server(strings.Repeat("ü", 99), ""), true},
		{server(strings.Repeat("ü", 100), ""), true},
		{server(strings.Repeat("ü", 101), ""), false},
		{server("x", strings.Replace(icon, "ICON", strings.Repeat("i", 237), 1)), true},
		{server("x", strings.Replace(icon, "ICON", strings.Repeat("i", 238), 1)), false},
		{server("x", `,"title":null`), false},
		{server("x", `,"packages":{}`), false},
		{`{"name":"com.example/a","description":"x"}`, false},
		{`[]`, false},
		{``, false},
	} {
		if got := sources.Conforms([]byte(tc.document)); got != tc.want {
			t.Errorf("Conforms(%s) = %v, want %v", tc.document, got, tc.want)
		}
	}
}

func TestURI(t *testing.T) {
	for address, want := range map[string]string{
		"": "", "https://a.example/b?c=%20&d#e": "https://a.example/b?c=%20&d#e", "https://ü.example/ä b": "https://%C3%BC.example/%C3%A4%20b", "https://a.example/{b}|c": "https://a.example/%7Bb%7D%7Cc",
	} {
		if got := sources.URI(address); got != want {
			t.Errorf("URI(%q) = %q, want %q", address, got, want)
		}
		if got := sources.IsURI(address); got != (address != "" && address == want) {
			t.Errorf("IsURI(%q) = %v", address, got)
		}
	}
}
