package sandbox_test

import (
	"testing"

	"mcpgateway/services/sandbox"
)

// TestPreludeEndsBeforeCode: lines of stacks tell the two apart.
func TestPreludeEndsBeforeCode(t *testing.T) {
	if sandbox.PreludeLines >= sandbox.UserLine {
		t.Errorf("the prelude has %d lines, code starts in line %d", sandbox.PreludeLines, sandbox.UserLine)
	}
}
