package nearest_test

import (
	"strings"
	"testing"

	"mcpgateway/services/nearest"
)

func TestNameFindsNearNames(t *testing.T) {
	known := []string{"allowedTools", "denyTools", "url", "enabled"}
	for name, want := range map[string]string{
		"deny_tools": "denyTools", "denytools": "denyTools", "denyTool": "denyTools", "denyTolos": "denyTools", "allowTools": "allowedTools",
		"enable": "enabled", "urls": "url", "colour": "", "": "", strings.Repeat("u", 65): "",
	} {
		if got := nearest.Name(name, known); got != want {
			t.Errorf("Name(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestDistance(t *testing.T) {
	for pair, want := range map[[2]string]int{
		{"", ""}: 0, {"a", ""}: 1, {"", "abc"}: 3, {"posgres", "postgres"}: 1, {"gtihub", "github"}: 1, {"kitten", "sitting"}: 3, {"ca", "abc"}: 3,
	} {
		if got := nearest.Distance(pair[0], pair[1]); got != want {
			t.Errorf("Distance(%q, %q) = %d, want %d", pair[0], pair[1], got, want)
		}
	}
}

func TestWordFindsSimilarWords(t *testing.T) {
	words := map[string]int{"postgres": 3, "progress": 9, "slack": 1, "stack": 4, "black": 4, "git": 5, "github": 7, "notion": 2}
	for word, want := range map[string]string{
		"posgres": "postgres", "postgers": "postgres", "slakc": "slack", "glack": "black", "gtihub": "github", "notoin": "notion",
		"gi": "", "gitt": "git", "zzzzzz": "", "": "", "slackers": "", strings.Repeat("n", 33): "",
	} {
		if got := nearest.Word(word, words); got != want {
			t.Errorf("Word(%q) = %q, want %q", word, got, want)
		}
	}
}
