package leaktest

import (
	"strings"
	"testing"
	"time"
)

func TestMain(m *testing.M) { Main(m) }

func TestRemainingGoroutinesAreFound(t *testing.T) {
	stop := make(chan struct{})
	go func() { <-stop }()
	if err := find(0, nil); err == nil || !strings.Contains(err.Error(), "TestRemainingGoroutinesAreFound") {
		t.Errorf("with a goroutine: got %v, want its stack", err)
	}
	close(stop)
	if err := find(limit, nil); err != nil {
		t.Error(err)
	}
}

// goleak itself would report this goroutine after 0.4 s.
func TestGoroutinesMayEndLate(t *testing.T) {
	go func() { <-time.After(time.Second) }()
	Verify(t)
}
