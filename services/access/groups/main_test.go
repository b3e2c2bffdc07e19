package groups_test

import (
	"testing"

	"mcpgateway/services/background/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }
