package demo

import (
	"testing"

	"mcpgateway/services"
	"mcpgateway/services/config"
)

// The demo project requires no authentication.
func TestDemoRequiresLoopback(t *testing.T) {
	d := New(&services.Services{Config: &config.Config{LoopbackListener: false}}, nil)
	if offered, err := d.Offered(t.Context()); offered || err != nil {
		t.Errorf("Offered() = %t, %v, want false", offered, err)
	}
	if err := d.Resume(t.Context()); err != nil || d.stop != nil {
		t.Errorf("Resume() = %v, servers started %t, want nil and false", err, d.stop != nil)
	}
}
