package codemode_test

import (
	"testing"

	"mcpgateway/services/background/leaktest"
	"mcpgateway/services/sandbox/sandboxtest"
)

func TestMain(m *testing.M) {
	sandboxtest.Worker()
	leaktest.Main(m)
}
