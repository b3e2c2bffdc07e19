package oauthserver_test

import (
	"strings"
	"testing"

	"mcpgateway/services/fault"
	"mcpgateway/services/oauthserver"
)

func TestRedirectRules(t *testing.T) {
	w := onSQLite(t)
	const (
		claude  = "https://claude.ai/api/mcp/auth_callback"
		cursor  = "cursor://anysphere.cursor-mcp/oauth/callback"
		vscode  = "http://127.0.0.1:33418/"
		copilot = "http://127.0.0.1:1/callback"
		code    = "http://localhost:3118/callback"
	)
	long := func(n int) string {
		const head = "https://client.example/"
		return head + strings.Repeat("x", n-len(head))
	}
	for i, tc := range []struct {
		registered, given string
		ok                bool
		source            string // of form-action
	}{
		{claude, claude, true, "https://claude.ai"},
		{"https://claude.com/api/mcp/auth_callback", "https://claude.com/api/mcp/auth_callback", true, "https://claude.com"},
		{claude, "https://claude.com/api/mcp/auth_callback", false, ""},
		{claude, claude + "/", false, ""},
		{claude, claude + "?x=1", false, ""},
		{claude, "https://claude.ai:443/api/mcp/auth_callback", false, ""},
		{claude, "https://CLAUDE.ai/api/mcp/auth_callback", false, ""},
		{claude, "http://claude.ai/api/mcp/auth_callback", false, ""},
		{cursor, cursor, true, "cursor:"},
		{cursor, "cursor://other/oauth/callback", false, ""},
		{"https://www.cursor.com/agents/mcp/oauth/callback", "https://www.cursor.com/agents/mcp/oauth/callback", true, "https://www.cursor.com"},
		{"http://localhost:8787/callback", "http://localhost:50123/callback", true, "http://localhost:50123"},
		{vscode, vscode, true, "http://127.0.0.1:33418"},
		{vscode, "http://127.0.0.1:33418", true, "http://127.0.0.1:33418"},
		{"http://127.0.0.1", "http://127.0.0.1:50123/", true, "http://127.0.0.1:50123"},
		{"vscode://vscode.vscode-mcp/cb", "vscode://vscode.vscode-mcp/cb", true, "vscode:"},
		{"vscode-insiders://x/cb", "vscode-insiders://x/cb", true, "vscode-insiders:"},
		{"windsurf://x/cb", "windsurf://x/cb", true, "windsurf:"},
		{"claude://x/cb", "claude://x/cb", true, "claude:"},
		{"https://vscode.dev/redirect", "https://vscode.dev/redirect", true, "https://vscode.dev"},
		{copilot, "http://127.0.0.1:61022/callback", true, "http://127.0.0.1:61022"},
		{copilot, "http://127.0.0.1/callback", true, "http://127.0.0.1"},
		{copilot, "http://localhost:1/callback", false, ""},
		{copilot, "http://127.0.0.2:1/callback", false, ""},
		{copilot, "http://127.0.0.1:1/callback/", false, ""},
		{copilot, "http://127.0.0.1:1/", false, ""},
		{copilot, "http://127.0.0.1:1/callback?x", false, ""},
		{copilot, "http://127.0.0.1.evil.example:1/callback", false, ""},
		{copilot, "https://127.0.0.1:1/callback", false, ""},
		{code, "http://localhost:3119/callback", true, "http://localhost:3119"},
		{code, "http://localhost.:3118/callback", false, ""},
		{"http://[::1]:7/cb", "http://[::1]:8/cb", true, "http:"},
		{"http://[::1]:7/cb", "http://127.0.0.1:7/cb", false, ""},
		{"https://client.example/cb?a=b", "https://client.example/cb?a=b", true, "https://client.example"},
		{"https://client.example:8443/cb", "https://client.example:8443/cb", true, "https://client.example:8443"},
		{long(oauthserver.MaxRedirectURI - 1000), long(oauthserver.MaxRedirectURI - 1000), true, "https://client.example"},
		// Registered by mistake, and never followed.
		{"https://*.example/cb", "https://*.example/cb", false, ""},
		{"https://user@client.example/cb", "https://user@client.example/cb", false, ""},
		{"https://client.example/cb#x", "https://client.example/cb#x", false, ""},
		{"https://client.example;evil/cb", "https://client.example;evil/cb", false, ""},
		{"https://client.example, evil/cb", "https://client.example, evil/cb", false, ""},
		{"https:///cb", "https:///cb", false, ""},
		{"https://client.example:0/cb", "https://client.example:0/cb", false, ""},
		{"http://client.example/cb", "http://client.example/cb", false, ""},
		{"javascript:alert(1)", "javascript:alert(1)", false, ""},
		{"javascript://x/%0aalert(1)", "javascript://x/%0aalert(1)", false, ""},
		{"data:text/html,x", "data:text/html,x", false, ""},
		{"file:///etc/passwd", "file:///etc/passwd", false, ""},
		{"vbscript:x", "vbscript:x", false, ""},
		{"blob:https://client.example/1", "blob:https://client.example/1", false, ""},
		{"about:blank", "about:blank", false, ""},
		{"myapp://cb", "myapp://cb", false, ""},
		{"cursor:cb", "cursor:cb", false, ""},
		{"/cb", "/cb", false, ""},
	} {
		client := w.register(t, tc.registered+strings.Repeat(" ", i)) // ids differ
		if err := w.db.Exec("UPDATE oauth_clients SET redirect_uris = ? WHERE id = ?", `["`+tc.registered+`"]`, client).Error; err != nil {
			t.Fatal(err)
		}
		consent, err := w.Authorize(t.Context(), query(client, "redirect_uri", tc.given), person("bob"))
		switch {
		case !tc.ok && !fault.Is(err, fault.CodeInvalidParameter):
			t.Errorf("%s for %s: %v, want an error", tc.given, tc.registered, err)
		case tc.ok && err != nil:
			t.Errorf("%s for %s: %v", tc.given, tc.registered, err)
		case tc.ok && consent.FormSource != tc.source:
			t.Errorf("%s: FormSource = %q, want %q", tc.given, consent.FormSource, tc.source)
		}
	}
}
