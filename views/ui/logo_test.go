package ui_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/a-h/templ"

	"mcpgateway/views/ui"
)

func TestLogosOfNamesAndHosts(t *testing.T) {
	path := func(name string) string {
		t.Helper()
		p := ui.LogoPath(name)
		if p == "" {
			t.Fatalf("no logo for %q", name)
		}
		return p
	}
	for product, names := range map[string][]string{
		"github":      {"GitHub", "github-official", "GitHub MCP Server", "github_2", "mcp-github", "https://api.githubcopilot.com/mcp/", "api.github.com"},
		"linear":      {"Linear", "https://mcp.linear.app/sse", "linear-mcp-server"},
		"huggingface": {"Hugging Face", "hugging-face", "hf.co"},
		"upstash":     {"Context7", "context7-local"},
		"postgresql":  {"Postgres", "postgres-mcp-pro"},
		"box":         {"Box", "mcp.box.com", "box-mcp"},
		"claude":      {"Claude Code", "Claude Desktop, claude.ai"},
		"gemini":      {"Gemini CLI"},
	} {
		for _, name := range names {
			if got := ui.LogoPath(name); got != path(product) {
				t.Errorf("the logo of %q isn't that of %s", name, product)
			}
		}
	}
	for _, name := range []string{"", "acme", "Box office", "Linear algebra", "render farm", "https://example.com/github", "evil-github", "mcp", strings.Repeat("github ", 30)} {
		if ui.LogoPath(name) != "" {
			t.Errorf("%q has a logo", name)
		}
	}
}

func TestLogoFile(t *testing.T) {
	content, err := os.ReadFile("logos/logos.txt")
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`^[a-z0-9!]+( [a-z0-9!]+)*\t[MmZzLlHhVvCcSsQqTtAa0-9,. -]+$`)
	seen := map[string]bool{}
	for text := range strings.Lines(string(content)) {
		text = strings.TrimSuffix(text, "\n")
		if !line.MatchString(text) || len(text) > 3000 {
			t.Errorf("not a line of logos: %.60q, %d bytes", text, len(text))
		}
		names, _, _ := strings.Cut(text, "\t")
		for name := range strings.FieldsSeq(strings.ReplaceAll(names, "!", "")) {
			if seen[name] {
				t.Errorf("%s is there twice", name)
			}
			seen[name] = true
		}
	}
}

func TestTileShowsLogoOrLetters(t *testing.T) {
	if html := draw(t, ui.Tile("GitHub")); !strings.Contains(html, `<svg viewBox="0 0 24 24" aria-hidden="true"><path d="M`) || strings.Contains(html, "letter") {
		t.Errorf("Tile(GitHub) = %.200s", html)
	}
	for name, html := range map[string]string{"s": draw(t, ui.SmallTile("Acme")), "l": draw(t, ui.BigTile("Acme"))} {
		if !strings.Contains(html, `class="tile letter `+name+` h`) || !strings.Contains(html, ">Ac</span>") {
			t.Errorf("%s: %s", name, html)
		}
	}
	if html := draw(t, ui.LetterTile("GitHub")); strings.Contains(html, "<svg") {
		t.Errorf("LetterTile(GitHub) = %s", html)
	}
}

func TestNameHasNoSpaces(t *testing.T) {
	same(t, "Name", draw(t, ui.Name("github__create_issue/a.b<i>")), "github__<wbr>create_<wbr>issue/<wbr>a.<wbr>b&lt;i&gt;")
}

func TestPictureTile(t *testing.T) {
	const icon = "/icons/0123456789abcdef.png"
	for size, tile := range map[string]templ.Component{"": ui.PictureTile("Acme", icon), "l": ui.BigPictureTile("Acme", icon)} {
		if html := draw(t, tile); !strings.Contains(html, `<img src="`+icon+`" alt=""`) || strings.Contains(html, "letter") || !strings.Contains(html, size) {
			t.Errorf("PictureTile = %s", html)
		}
	}
	if html := draw(t, ui.PictureTile("GitHub", icon)); strings.Contains(html, "<img") {
		t.Errorf("PictureTile of a product with a logo = %.200s", html)
	}
	for _, path := range []string{"", "/icons/.png", "/icons/0g.png", "/icons/../x.png", "/icons/00.svg", "//icons/00.png", "https://example.com/icons/00.png", "/logout"} {
		if html := draw(t, ui.PictureTile("Acme", path)); strings.Contains(html, "<img") || !strings.Contains(html, "letter") {
			t.Errorf("PictureTile(%q) = %s", path, html)
		}
	}
}
