package published_test

import (
	"testing"

	"mcpgateway/services/catalog/published"
	"mcpgateway/services/catalog/sources"
)

func TestPublisher(t *testing.T) {
	for host, want := range map[string]string{
		"gateway.example.com": "com.example.gateway", "Gateway.Example.com.": "com.example.gateway", "localhost": "localhost", "127.0.0.1": "localhost", "127.1.2.3": "localhost", "::1": "localhost",
		"192.0.2.7": "192.0.2.7", "2001:db8::": "2001-db8", "fe80::1%eth0": "fe80--1", "::ffff:127.0.0.1": "localhost",
	} {
		got := published.Publisher(host)
		if got != want || !sources.ValidName(got, false) {
			t.Errorf("Publisher(%q) = %q, want %q", host, got, want)
		}
	}
}
