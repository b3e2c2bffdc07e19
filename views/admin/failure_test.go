package admin_test

import (
	"testing"

	"mcpgateway/views/admin"
)

func TestFailuresInWords(t *testing.T) {
	const address = "https://mcp.linear.app/mcp"
	for _, tt := range []struct {
		server         admin.FailedServer
		title, advice  string
		fix            admin.Fix
		errorBoxStarts string
	}{
		{admin.FailedServer{Reason: "refused", URL: "http://127.0.0.1:19999/mcp"}, "Connection refused", "Nothing listens on 127.0.0.1:19999. Is the server running, and is the port right?", admin.FixURL, "We can't reach this server: connection refused."},
		{admin.FailedServer{Reason: "refused", URL: address}, "Connection refused", "Nothing listens on mcp.linear.app:443. Is the server running, and is the port right?", admin.FixURL, "We can't reach this server: connection refused."},
		{admin.FailedServer{Reason: "host", URL: address}, "Host not found", "Check mcp.linear.app for typos.", admin.FixURL, "We can't reach this server: host not found."},
		{admin.FailedServer{Reason: "timeout:20s", URL: address}, "Timed out after 20 s", "The server accepted the connection but didn't respond.", admin.FixRetry, "We can't reach this server: timed out after 20 s."},
		{admin.FailedServer{Reason: "timeout", URL: address}, "Timed out", "The server accepted the connection but didn't respond.", admin.FixRetry, "We can't reach this server: timed out."},
		{admin.FailedServer{Reason: "certificate:tls: failed to verify certificate: x509: certificate has expired", URL: address}, "Certificate not trusted", "Certificate has expired.", admin.FixURL, "We can't reach this server: certificate not trusted."},
		{admin.FailedServer{Reason: "certificate:tls: first record does not look like a TLS handshake", URL: address}, "No TLS at this address", "mcp.linear.app:443 doesn't speak https. If the server speaks http, use http://.", admin.FixURL, "We can't reach this server: no TLS at this address."},
		{admin.FailedServer{Reason: "other", URL: address, Message: "foo: unknown key"}, "Request failed", "foo: unknown key.", admin.FixRetry, "We can't reach this server: request failed."},
		{admin.FailedServer{Reason: "credentials", URL: address, HasCredentials: true}, "Token rejected", "Check that the token is complete and hasn't expired.", admin.FixToken, "This server doesn't work: token rejected."},
		{admin.FailedServer{Reason: "credentials", URL: address}, "Token missing", "Add the token this server needs.", admin.FixToken, "This server doesn't work: token missing."},
		{admin.FailedServer{Reason: "credentials", URL: address, OAuth: true}, "Token rejected", "Reconnect to sign in again.", admin.FixReconnect, "This server doesn't work: token rejected."},
		{admin.FailedServer{Reason: "sign-in", URL: address}, "Sign-in needed", "This server uses OAuth. Choose it under Credentials, then sign in at linear.app.", admin.FixToken, "This server doesn't work: sign-in needed."},
		{admin.FailedServer{Reason: "forbidden", URL: address}, "Access denied", "The account or token may not use this server.", admin.FixToken, "This server doesn't work: access denied."},
		{admin.FailedServer{Reason: "no-endpoint", URL: address}, "No MCP server at this URL", "Check the path; many servers use /mcp.", admin.FixURL, "This server doesn't work: no MCP server at this URL."},
		{admin.FailedServer{Reason: "http:502", URL: address}, "HTTP 502 from the server", "", admin.FixRetry, "This server doesn't work: HTTP 502 from the server."},
		{admin.FailedServer{Reason: "blocked", URL: address}, "Private address blocked", "Allow it with GATEWAY_EGRESS_ALLOW.", admin.FixURL, "We can't reach this server: private address blocked."},
		{admin.FailedServer{Reason: "revoked", URL: address, OAuth: true}, "Access was revoked", "Reconnect to sign in again.", admin.FixReconnect, "This server doesn't work: access was revoked."},
		{admin.FailedServer{Reason: "not-connected", URL: address, OAuth: true}, "Not connected", "Sign in at linear.app so that we can read its tools.", admin.FixConnect, "We can't reach this server: not connected."},
		{admin.FailedServer{Reason: "not-mcp", URL: address}, "Not an MCP server", "It responded, but not with MCP.", admin.FixURL, "This server doesn't work: not an MCP server."},
		{admin.FailedServer{Reason: "other", URL: address, Message: "it is overloaded"}, "Request failed", "It is overloaded.", admin.FixRetry, "We can't reach this server: request failed."},
		{admin.FailedServer{}, "Request failed", "", admin.FixRetry, "We can't reach this server: request failed."},
		{admin.FailedServer{Reason: "refused", URL: "::"}, "Connection refused", "Nothing listens on its address. Is the server running, and is the port right?", admin.FixURL, "We can't reach this server: connection refused."},
	} {
		f := admin.FailureOf(tt.server)
		if f.Title != tt.title || f.Advice != tt.advice || f.Fix != tt.fix || f.Sentence() != tt.errorBoxStarts {
			t.Errorf("%+v:\n got %q %q %s %q\nwant %q %q %s %q", tt.server, f.Title, f.Advice, f.Fix, f.Sentence(), tt.title, tt.advice, tt.fix, tt.errorBoxStarts)
		}
	}
}

func TestProvider(t *testing.T) {
	for address, want := range map[string]string{"https://mcp.linear.app/mcp": "linear.app", "https://api.githubcopilot.com/mcp/": "githubcopilot.com", "http://mcp.local": "mcp.local", "http://127.0.0.1:1/x": "127.0.0.1", "%": "the host"} {
		if got := admin.Provider(address); got != want {
			t.Errorf("Provider(%q) = %q, want %q", address, got, want)
		}
	}
}
