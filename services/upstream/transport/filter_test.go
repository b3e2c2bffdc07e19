package transport

import (
	"context"
	"net/http"
	"testing"

	"mcpgateway/services/upstream"
)

// TestQueryValuesAreFiltered checks that all query values of a sealed URL are
// removed from responses, and those of other URLs by name.
func TestQueryValuesAreFiltered(t *testing.T) {
	const address = "https://up.example/mcp?team=team-value-1&api_key=key-value-22"
	const text = "team-value-1 key-value-22"
	sealed := &upstream.Target{URL: "https://up.example/mcp?team=[secret]&api_key=[secret]", Address: func() (string, error) { return address, nil }}
	for _, tt := range []struct {
		name   string
		target *upstream.Target
		want   string
	}{
		{"sealed", sealed, "[redacted] [redacted]"},
		{"plain", &upstream.Target{URL: address}, "team-value-1 [redacted]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := NewFilter(tt.target, address)
			f.use(context.Background(), http.Header{})
			if got := f.Text(text); got != tt.want {
				t.Errorf("text(%q) = %q, want %q", text, got, tt.want)
			}
		})
	}
}
