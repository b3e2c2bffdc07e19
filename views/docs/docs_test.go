package docs

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

const front = "---\ntitle: Keys\nsection: How to\norder: 2\n---\n"

func site(t *testing.T, pages map[string]string) (*Site, error) {
	t.Helper()
	files := fstest.MapFS{}
	for name, source := range pages {
		files[name+".md"] = &fstest.MapFile{Data: []byte(source)}
	}
	return load(files)
}

func TestEmbeddedDocs(t *testing.T) {
	s, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range s.Pages {
		if p.Lead == "" {
			t.Errorf("%s.md has no first paragraph", p.Name)
		}
	}
}

func TestLoadRejects(t *testing.T) {
	tests := []struct{ name, source, want string }{
		{"no front matter", "# Keys\n", "no front matter"},
		{"unknown key", "---\ntitle: Keys\nauthor: x\n---\n", `unknown front matter key "author"`},
		{"unknown section", "---\ntitle: Keys\nsection: Other\n---\n", "section"},
		{"order", "---\ntitle: Keys\nsection: How to\norder: first\n---\n", "order"},
		{"other heading", front + "# Locks\n", `heading "Locks" differs from the title "Keys"`},
		{"unknown page", front + "[x](absent.md)\n", "/docs/absent"},
		{"unknown heading", front + "[x](#absent)\n", "#absent"},
		{"unknown heading elsewhere", front + "[x](keys.md#absent)\n", "/docs/keys#absent"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := site(t, map[string]string{"keys": tt.source})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("load = %v, want an error with %q", err, tt.want)
			}
		})
	}
}

func TestRender(t *testing.T) {
	s, err := site(t, map[string]string{
		"keys": front + "# Keys\n\nKeys open a `project`.\n\n## Rotate a key\n\nSee [errors](errors.md#KEY_GONE) & <b>more</b>.\n\n" +
			"```json\n{\"a\": 1}\n```\n\n## Rotate a key\n\nAgain.\n\n| | b |\n|---|---|\n| c | d |\n",
		"errors": "---\ntitle: Errors\nsection: Reference\norder: 1\n---\n# Errors\n\n### `KEY_GONE`\n\nText.\n",
		"start":  "---\ntitle: First\nsection: Start\norder: 9\n---\n# First\n\nText.\n",
	})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range s.Pages {
		names = append(names, p.Name)
	}
	if want := []string{"start", "keys", "errors"}; !slices.Equal(names, want) {
		t.Errorf("pages = %q, want %q", names, want)
	}
	keys := s.Find("keys")
	if want := "Keys open a project."; keys.Lead != want {
		t.Errorf("Lead = %q, want %q", keys.Lead, want)
	}
	var parts []string
	for _, part := range keys.Parts {
		parts = append(parts, part.ID+": "+part.Text)
	}
	want := []string{": Keys open a project.", `rotate-a-key: See errors & more. {"a": 1}`, "rotate-a-key-1: Again. b c d"}
	if !slices.Equal(parts, want) {
		t.Errorf("parts = %q, want %q", parts, want)
	}
	for _, want := range []string{`<h2 id="rotate-a-key">`, `href="/docs/errors#KEY_GONE"`, `<copy-text><pre tabindex="0"`, "&amp;", `<div class="docs-table" tabindex="0" role="group" aria-label="Table"><table>`, "<td></td>\n<th>b</th>"} {
		if !strings.Contains(keys.html, want) {
			t.Errorf("the page lacks %s:\n%s", want, keys.html)
		}
	}
	if strings.Contains(keys.html, "<b>") {
		t.Error("raw HTML is passed through")
	}
	if before, after := s.Around(keys); before.Name != "start" || after.Name != "errors" {
		t.Errorf("Around(keys) = %s, %s", before.Name, after.Name)
	}
	if list := s.List("https://gateway.example"); !strings.Contains(list, "- [Keys](https://gateway.example/docs/keys.md): Keys open a project.\n") {
		t.Errorf("List lacks the page:\n%s", list)
	}
}
