package mcp_test

import (
	"testing"

	"mcpgateway/services/sandbox/sandboxtest"
)

func TestMain(m *testing.M) { sandboxtest.Main(m) }
