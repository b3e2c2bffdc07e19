package ui_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/a-h/templ"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"mcpgateway/views/ui"
)

func TestHiddenText(t *testing.T) {
	for _, tc := range []struct {
		name   string
		text   string
		shown  string
		hidden bool
	}{
		{"nothing hidden", "Opens an issue – 文書, ñ, 😀", "Opens an issue – 文書, ñ, 😀", false},
		{"tabs and line feeds", "a\tb\nc", "a\tb\nc", false},
		{"C0", "a\x00b\x1bc\rd", "abcd", true},
		{"DEL and C1", "a\x7fb\u0085c\u009fd", "abcd", true},
		{"bidi embedding and override", "a\u202ab\u202ec\u202cd", "abcd", true},
		{"bidi isolates", "a\u2066b\u2069c", "abc", true},
		{"direction marks", "a\u200eb\u200fc\u061cd", "abcd", true},
		{"zero width", "a\u200bb\u200cc\u200dd\u2060e\ufefff", "abcdef", true},
		{"soft hyphen and fillers", "a\u00adb\u3164c\uffa0d", "abcd", true},
		{"separators", "a\u2028b\u2029c", "abc", true},
		{"tags", "a\U000e0001\U000e0069\U000e007fb", "ab", true},
		{"selectors after letters", "a\ufe0fb\U000e0100c", "abc", true},
		{"emoji selector", "⚠\ufe0f careful", "⚠\ufe0f careful", false},
		{"second selector", "⚠\ufe0f\ufe0e", "⚠\ufe0f", true},
		{"invalid UTF-8", "a\xffb", "a\ufffdb", false},
		{"after the C1 range", "a\u00a0b", "a\u00a0b", false},
		{"next to the bidi range", "\u202f\u2070", "\u202f\u2070", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := ui.Clean(tc.text); got != tc.shown {
				t.Errorf("Clean = %+q, want %+q", got, tc.shown)
			}
			if got := ui.Hidden(tc.text); got != tc.hidden {
				t.Errorf("Hidden = %t, want %t", got, tc.hidden)
			}
		})
	}
}

func TestCleanRemovesHidden(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		clean := ui.Clean(text)
		if ui.Hidden(clean) && !ui.Hidden(text) || !utf8.ValidString(clean) {
			t.Errorf("Clean(%+q) = %+q", text, clean)
		}
	})
}

func TestRawNamesHiddenCharacters(t *testing.T) {
	html := draw(t, ui.Raw("Reads <b>\u200b a file.\U000e0069"))
	want := `Reads &lt;b&gt;<mark>U+200B</mark> a file.<mark>U+E0069</mark>`
	if !strings.Contains(html, want) {
		t.Errorf("got %s\nwant it to contain %s", html, want)
	}
	if ui.Hidden(html) {
		t.Errorf("page contains hidden characters: %+q", html)
	}
}

func TestRawLimit(t *testing.T) {
	for _, tc := range []struct{ length, shown int }{{19_999, 19_999}, {20_000, 20_000}, {20_001, 20_000}} {
		html := draw(t, ui.Raw(strings.Repeat("é", tc.length)))
		if got := strings.Count(html, "é"); got != tc.shown {
			t.Errorf("%d characters: shown %d, want %d", tc.length, got, tc.shown)
		}
		if got, want := strings.Contains(html, "…"), tc.length > tc.shown; got != want {
			t.Errorf("%d characters: end marked = %t, want %t", tc.length, got, want)
		}
	}
}

func TestURL(t *testing.T) {
	const dead = templ.SafeURL("about:invalid")
	for _, tc := range []struct {
		address string
		want    templ.SafeURL
	}{
		{"/admin/projects/a%20b?query=x%3Ay#top", "/admin/projects/a%20b?query=x%3Ay#top"},
		{"#field", "#field"},
		{"?cursor=x", "?cursor=x"},
		{"", ""},
		{"https://example.com/a", "https://example.com/a"},
		{"http://127.0.0.1:8080/", "http://127.0.0.1:8080/"},
		{"mailto:ada@example.com", "mailto:ada@example.com"},
		{"cursor://anysphere.cursor-deeplink/mcp/install?name=a", "cursor://anysphere.cursor-deeplink/mcp/install?name=a"},
		{"vscode:mcp/install?%7B%7D", "vscode:mcp/install?%7B%7D"},
		{"HTTPS://example.com/", "HTTPS://example.com/"},
		{"javascript:alert(1)", dead},
		{"JaVaScRiPt:alert(1)", dead},
		{" javascript:alert(1)", dead},
		{"java\nscript:alert(1)", dead},
		{"\x01javascript:alert(1)", dead},
		{"data:text/html,x", dead},
		{"vbscript:x", dead},
		{"file:///etc/passwd", dead},
		{"//evil.example/", dead},
		{"/\\evil.example/", dead},
		{"\\\\evil.example/", dead},
		{"/\t/evil.example/", dead},
		{"http://[::1", dead},
		{"/a\u202eb", dead},
		{"/" + strings.Repeat("x", 16<<10-1), templ.SafeURL("/" + strings.Repeat("x", 16<<10-1))},
		{"/" + strings.Repeat("x", 16<<10), dead},
	} {
		if got := ui.URL(tc.address); got != tc.want {
			t.Errorf("URL(%.60q) = %.60q, want %.60q", tc.address, got, tc.want)
		}
	}
}

func TestSafeIconURL(t *testing.T) {
	long := "https://example.com/" + strings.Repeat("x", 2<<10-20)
	for _, tc := range []struct {
		address string
		safe    bool
	}{
		{"https://example.com/icon.png", true},
		{"https://example.com:8443/icon.png?size=2", true},
		{"data:image/png;base64,iVBORw0KGgo=", true},
		{"data:image/webp;base64,AAAA", true},
		{long, true},
		{long + "x", false},
		{"", false},
		{"http://example.com/icon.png", false},
		{"https://user:secret@example.com/icon.png", false},
		{"https://user@example.com/icon.png", false},
		{"https://example.com/icon.svg#x", false},
		{"https:///icon.png", false},
		{"https:icon.png", false},
		{"//example.com/icon.png", false},
		{"/static/icon.svg", false},
		{"javascript:alert(1)", false},
		{"https://example.com/a b", false},
		{"https://example.com/\nx", false},
		{"https://example.com\\@evil.example/", false},
		{"https://exam\u200bple.com/", false},
		{"data:image/svg+xml;base64,PHN2Zz4=", false},
		{"data:text/html;base64,AAAA", false},
		{"data:image/png;base64,", false},
		{"data:image/png;base64,not base64", false},
		{"data:image/png,AAAA", false},
	} {
		want := ""
		if tc.safe {
			want = tc.address
		}
		if got := ui.SafeIconURL(tc.address); got != want {
			t.Errorf("SafeIconURL(%.80q) = %.80q, want %.80q", tc.address, got, want)
		}
	}
}

func TestUnsafeImagesBecomeText(t *testing.T) {
	for source, drawn := range map[string]bool{
		"data:image/gif;base64,AAAA":          true,
		"data:image/svg+xml;base64,PHN2Zy8+":  false,
		"https://example.com/tracking.png":    false,
		`data:image/png;base64,"><script>`:    false,
		"javascript:alert(1)":                 false,
		"data:image/png;base64,AAAA\" onload": false,
	} {
		html := draw(t, ui.Image("A picture", source))
		if got := strings.Contains(html, "<img"); got != drawn {
			t.Errorf("%q drawn = %t, want %t", source, got, drawn)
		}
		if !strings.Contains(html, "A picture") {
			t.Errorf("%q lost its text: %s", source, html)
		}
	}
}

func draw(t *testing.T, c templ.Component) string {
	t.Helper()
	var b strings.Builder
	if err := c.Render(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
