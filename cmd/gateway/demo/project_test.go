package demo

import (
	"testing"

	"mcpgateway/services"
	"mcpgateway/services/config"
)

// Nobody is asked who they are in the demo project.
func TestAGatewayThatOthersReachOffersNoDemo(t *testing.T) {
	d := New(&services.Services{Config: &config.Config{LoopbackListener: false}}, nil)
	if offered, err := d.Offered(t.Context()); offered || err != nil {
		t.Errorf("it is offered: %v, %v", offered, err)
	}
	if err := d.Resume(t.Context()); err != nil || d.stop != nil {
		t.Errorf("its servers were started, %v", err)
	}
}
