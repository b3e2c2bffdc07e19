package models_test

import (
	"os"
	"testing"
	"time"
)

// TestMain sets a time zone far from UTC, so that local times fail tests on
// machines that run in UTC.
func TestMain(m *testing.M) {
	time.Local = time.FixedZone("test", 5*60*60+30*60)
	os.Exit(m.Run())
}
