package public_test

import (
	"net/url"
	"regexp"
	"testing"
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
			page := get(t, a, "/docs/search?q="+url.QueryEscape(tt.query), 200)
			if first := firstResult.FindStringSubmatch(page.Body); len(first) != 2 || first[1] != tt.want {
				t.Errorf("first result of %q = %q, want %q", tt.query, first, tt.want)
			}
		})
	}
}
