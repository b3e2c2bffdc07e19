package host

import (
	"bytes"
	"log/slog"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"

	"mcpgateway/services/config"
)

func TestConnLimits(t *testing.T) {
	proxies := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	tests := []struct {
		name                string
		connections, of     int
		descriptors         int
		want, wantOf, lines int
	}{
		{"unlimited descriptors", 20_000, 512, 0, 20_000, 512, 0},
		{"many descriptors", 20_000, 512, 1 << 20, 20_000, 512, 0},
		{"just enough descriptors", 768, 512, 1024, 768, 384, 0},
		{"one too few", 769, 512, 1024, 768, 384, 1},
		{"few descriptors", 20_000, 512, 1024, 768, 384, 1},
		{"very few descriptors", 20_000, 512, 256, 128, 64, 1},
		{"hardly any descriptors", 20_000, 512, 2, 1, 1, 1},
		{"address limit above total limit", 100, 512, 0, 100, 50, 0},
		{"one connection", 1, 1, 0, 1, 1, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var log bytes.Buffer
			c := &config.Config{PublicURL: &url.URL{Scheme: "https", Host: "gateway.example.com"}, TrustedProxies: proxies, Capacity: config.Capacity{MaxConnections: tt.connections, MaxPerAddress: tt.of}}
			got := ConnLimits(c, tt.descriptors, slog.New(slog.NewTextHandler(&log, nil)))
			if got.Max != tt.want || got.MaxPerAddress != tt.wantOf || !slices.Equal(got.Exempt, proxies) {
				t.Errorf("ConnLimits() = %d, per address %d, exempt %v, want %d, %d, %v", got.Max, got.MaxPerAddress, got.Exempt, tt.want, tt.wantOf, proxies)
			}
			if want := "https://gateway.example.com/docs/errors#UNAVAILABLE"; got.Help != want {
				t.Errorf("help = %q, want %q", got.Help, want)
			}
			if lines := strings.Count(log.String(), "\n"); lines != tt.lines {
				t.Errorf("logged %d lines, want %d:\n%s", lines, tt.lines, log.String())
			}
		})
	}
}
