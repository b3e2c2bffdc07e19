package projects_test

import (
	"testing"

	"mcpgateway/services/fault"
	"mcpgateway/services/projects"
)

func TestSlugFor(t *testing.T) {
	for _, tt := range []struct{ entered, name, want string }{
		{"Entered", "Name", "Entered"},
		{"", "My Project 2", "my-project-2"},
		{"", "Über Größe & Co", "uber-grosse-co"},
		{"", "Łódź, København, Ægir", "lodz-kobenhavn-aegir"},
		{"", "日本 A", "a"},
		{"", "日本語", ""},
		{"", "--", ""},
	} {
		got, err := projects.SlugFor("slug", tt.entered, tt.name)
		if got != tt.want || (err != nil) != (tt.want == "") {
			t.Errorf("%q: %q, %v; want %q", tt.name, got, err, tt.want)
		}
		if err != nil && fault.From(err).Fields["slug"] == "" {
			t.Errorf("%q: %+v", tt.name, fault.From(err))
		}
	}
}
