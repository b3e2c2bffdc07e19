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
