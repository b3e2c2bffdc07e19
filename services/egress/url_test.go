package egress_test

import (
	"strings"
	"testing"

	"mcpgateway/services/egress"
	"mcpgateway/services/fault"
)

func TestCheckURL(t *testing.T) {
	long := func(n int) string { return "http://h/" + strings.Repeat("a", n-len("http://h/")) }
	cases := []struct {
		url string
		ok  bool
	}{
		{"https://mcp.example.com/mcp", true},
		{"http://127.0.0.1:3001/mcp?a=b", true},
		{"HTTPS://Example.com", true},
		{"http://[::1]:8080/", true},
		{"http://10.0.0.1", true},
		{"http://h:1", true},
		{"http://h:65535", true},
		{"http://h:65536", false},
		{"http://h:0", false},
		{"http://h:", false},
		{"http://h:x", false},
		{long(2047), true},
		{long(2048), true},
		{long(2049), false},
		{"", false},
		{"mcp.example.com/mcp", false},
		{"//mcp.example.com", false},
		{"ftp://example.com", false},
		{"file:///etc/passwd", false},
		{"unix:///run/x.sock", false},
		{"javascript:alert(1)", false},
		{"http:", false},
		{"http:example.com", false},
		{"http:///mcp", false},
		{"http://:80/", false},
		{"http://user@example.com", false},
		{"http://user:password@example.com", false},
		{"http://@example.com", false},
		{"http://example.com/#f", false},
		{"http://example.com/#", false},
		{"http://exa mple.com/", false},
		{"http://example.com/\n", false},
		{"http://[fe80::1%25eth0]/", false},
		{"http://169.254.169.254/latest/meta-data", false},
		{"http://[fd00:ec2::254]/", false},
		{"http://100.100.100.200/", false},
		{"http://[::ffff:169.254.169.254]/", false},
		{"http://0.0.0.0:8080/", false},
	}
	for _, c := range cases {
		err := egress.CheckURL(c.url)
		if (err == nil) != c.ok {
			t.Errorf("CheckURL(%q) = %v", c.url, err)
		}
		if err != nil && !fault.Is(err, fault.CodeValidationFailed) {
			t.Errorf("CheckURL(%q) = %v, want a validation fault", c.url, err)
		}
		if err != nil && strings.Contains(err.Error(), "password@") {
			t.Errorf("CheckURL(%q) error contains the password: %v", c.url, err)
		}
	}
}
