package docsearch

import (
	"strings"
	"testing"
)

func TestFind(t *testing.T) {
	x := New([]Section{
		{"/docs/a#keys", "Rotate secrets", "Rotate a client's key", "Create the new key first. Then revoke the old one."},
		{"/docs/b", "Concepts", "Concepts", "A key opens a project. Keys can be rotated."},
		{"/docs/errors#CURSOR_STALE", "Error codes", "CURSOR_STALE", "The results have changed."},
		{"/docs/c", "Search", "Cursors", "A stale cursor is rejected."},
	})
	tests := []struct {
		name, query string
		limit       int
		want        []string
	}{
		{"heading before text", "rotate key", 9, []string{"/docs/a#keys", "/docs/b"}},
		{"code", "CURSOR_STALE", 9, []string{"/docs/errors#CURSOR_STALE", "/docs/c"}},
		{"plural", "cursors", 1, []string{"/docs/c"}},
		{"limit", "key", 1, []string{"/docs/a#keys"}},
		{"stop words", "the of", 9, nil},
		{"unknown word", "zebra", 9, nil},
		{"empty", "", 9, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, r := range x.Find(tt.query, tt.limit) {
				got = append(got, r.URL)
			}
			if strings.Join(got, " ") != strings.Join(tt.want, " ") {
				t.Errorf("Find(%q) = %q, want %q", tt.query, got, tt.want)
			}
		})
	}
}

func TestExcerpt(t *testing.T) {
	long := strings.Repeat("word ", 100) + "End. The needle is here. " + strings.Repeat("more ", 100)
	x := New([]Section{{"/docs/a", "A", "A", long}})
	found := x.Find("needle", 1)
	if len(found) != 1 || !strings.HasPrefix(found[0].Excerpt, "… The needle is here. more") || !strings.HasSuffix(found[0].Excerpt, "…") {
		t.Errorf("Find(needle) = %+v, want an excerpt from the sentence on, truncated", found)
	}
	if got := len(found[0].Excerpt); got > excerptLength+len("… …") {
		t.Errorf("excerpt has %d bytes, want at most %d", got, excerptLength)
	}
}
