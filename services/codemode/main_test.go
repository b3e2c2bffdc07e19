package codemode_test

import (
	"testing"

	"go.uber.org/goleak"

	"mcpgateway/services/sandbox/sandboxtest"
)

func TestMain(m *testing.M) {
	sandboxtest.Worker()
	goleak.VerifyTestMain(m)
}
