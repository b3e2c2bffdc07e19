package egress_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"mcpgateway/services/egress"
)

func TestTelemetryReachesInternalCollectors(t *testing.T) {
	moved := false
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/moved" {
			moved = true
			return
		}
		http.Redirect(w, r, "/moved", http.StatusTemporaryRedirect)
	}))
	defer collector.Close()
	clients := egress.NewClients(egress.NewGuard(nil)) // upstream servers must be public
	defer clients.Close()
	if d := clients.Telemetry().Timeout; d <= 0 || d > time.Minute {
		t.Errorf("timeout = %s", d)
	}
	resp, err := clients.Telemetry().Post(collector.URL, "application/x-protobuf", nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusTemporaryRedirect || moved {
		t.Errorf("redirect: status %d, followed %t", resp.StatusCode, moved)
	}
	for _, address := range []string{"http://169.254.169.254/", "http://[fe80::1]/", "http://[fd00:ec2::254]/", "http://0.0.0.0/"} {
		_, err := clients.Telemetry().Get(address)
		var blocked *egress.Blocked
		if !errors.As(err, &blocked) || !blocked.Never {
			t.Errorf("%s: %v", address, err)
		}
	}
}
