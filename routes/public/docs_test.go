package public_test

import (
	"net/url"
	"regexp"
	"strings"
	"testing"

	"mcpgateway/views/docs"
)

var firstResult = regexp.MustCompile(`docs-found"><li><a href="(/docs/[^"]*)"`)

func TestDocsSearchFirstResult(t *testing.T) {
	a := newApp(t)
	tests := []struct{ query, want string }{
		{"rotate key", "/docs/rotate-keys"},
		{"CURSOR_STALE", "/docs/errors#CURSOR_STALE"},
		{"Entra", "/docs/single-sign-on#microsoft-entra-id"},
		{"claude.ai", "/docs/clients#claudeai-and-claude-desktop"},
	}
	for _, tt := range tests {
		t.Run(tt.query, func(t *testing.T) {
			page := get(t, a, "/docs?q="+url.QueryEscape(tt.query), 200)
			if first := firstResult.FindStringSubmatch(page.Body); len(first) != 2 || first[1] != tt.want {
				t.Errorf("first result of %q = %q, want %q", tt.query, first, tt.want)
			}
		})
	}
}

// Every page is at its address, also the one about search.
func TestDocsPageAddresses(t *testing.T) {
	a := newApp(t)
	site, err := docs.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range site.Pages {
		if page := get(t, a, p.URL(), 200); !strings.Contains(page.Body, "<h1>"+p.Title+"</h1>") && !strings.Contains(page.Body, `<h1 id="`) {
			t.Errorf("%s doesn't have the heading %q", p.URL(), p.Title)
		}
		if raw := get(t, a, p.URL()+".md", 200); raw.Body != p.Markdown {
			t.Errorf("%s.md differs from the file", p.URL())
		}
	}
}
