package models_test

import (
	"os"
	"testing"
	"time"
)

// TestMain moves the machine far from UTC, so that a time that comes back in
// local time is seen on machines whose local time is UTC.
func TestMain(m *testing.M) {
	time.Local = time.FixedZone("test", 5*60*60+30*60)
	os.Exit(m.Run())
}
