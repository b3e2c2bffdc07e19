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
