package install_test

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcpgateway/models"
	"mcpgateway/views/install"
	"mcpgateway/views/ui"
)

func texts(tabs []ui.SnippetTab) map[string]string {
	m := map[string]string{}
	for _, t := range tabs {
		m[t.Label] = t.Text
	}
	return m
}

func TestRemoteSnippets(t *testing.T) {
	const address = "https://mcp.example.com/mcp?a=1&b=2"
	for _, tc := range []struct {
		name   string
		server install.Remote
		want   map[string]string
	}{
		{"without a key", install.Remote{Name: "docs", URL: address}, map[string]string{
			"Claude Code":    "claude mcp add --transport http docs 'https://mcp.example.com/mcp?a=1&b=2'",
			"Claude Desktop": address,
			"Cursor":         `{"mcpServers":{"docs":{"url":"` + address + `"}}}`,
			"VS Code":        `{"servers":{"docs":{"type":"http","url":"` + address + `"}}}`,
			"Windsurf":       `{"mcpServers":{"docs":{"serverUrl":"` + address + `"}}}`,
			"Gemini CLI":     `{"mcpServers":{"docs":{"httpUrl":"` + address + `"}}}`,
			"Cline":          `{"mcpServers":{"docs":{"url":"` + address + `","type":"streamableHttp"}}}`,
			"Codex":          "[mcp_servers.\"docs\"]\nurl = \"" + address + `"`,
		}},
		{"with a token", install.Remote{Name: "docs", URL: "https://x.example/mcp", Key: "Bearer API_KEY"}, map[string]string{
			"Claude Code": "claude mcp add --transport http docs \\\n  https://x.example/mcp \\\n  --header 'Authorization: Bearer API_KEY'",
			"Cursor":      `{"mcpServers":{"docs":{"url":"https://x.example/mcp","headers":{"Authorization":"Bearer API_KEY"}}}}`,
			"VS Code": `{"inputs":[{"type":"promptString","id":"key","description":"Key for docs","password":true}],` +
				`"servers":{"docs":{"type":"http","url":"https://x.example/mcp","headers":{"Authorization":"Bearer ${input:key}"}}}}`,
			"Codex": "[mcp_servers.\"docs\"]\nurl = \"https://x.example/mcp\"\nbearer_token_env_var = \"DOCS_TOKEN\"",
		}},
		{"with a header, over SSE", install.Remote{Name: "7-docs", URL: "https://x.example/sse", SSE: true, Key: "API_KEY", In: "X-Key"}, map[string]string{
			"Claude Code": "claude mcp add --transport sse 7-docs \\\n  https://x.example/sse \\\n  --header 'X-Key: API_KEY'",
			"Gemini CLI":  `{"mcpServers":{"7-docs":{"url":"https://x.example/sse","headers":{"X-Key":"API_KEY"}}}}`,
			"Cline":       `{"mcpServers":{"7-docs":{"url":"https://x.example/sse","type":"sse","headers":{"X-Key":"API_KEY"}}}}`,
			"Codex":       "",
			"curl":        "curl -sN https://x.example/sse \\\n  -H 'X-Key: API_KEY' \\\n  -H 'Accept: text/event-stream'",
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := texts(tc.server.Tabs())
			for label, want := range tc.want {
				text, ok := got[label]
				if !ok {
					t.Fatalf("no snippet for %s", label)
				}
				if strings.HasPrefix(want, "{") {
					text = compact(t, text)
				}
				if d := cmp.Diff(want, text); d != "" {
					t.Errorf("%s (-want +got):\n%s", label, d)
				}
			}
		})
	}
}

func compact(t *testing.T, text string) string {
	t.Helper()
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(json.RawMessage(text)); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return strings.TrimSpace(b.String())
}

func TestFilledSnippets(t *testing.T) {
	const secret = "gwk_0123456789abcdefghijABCDEFGHIJ012345"
	tabs := (install.Remote{Name: "docs", URL: "https://x.example/mcp", Key: "Bearer API_KEY", Secret: secret}).Tabs()
	for _, tab := range tabs {
		all := tab.Text + tab.File.Text + tab.Note
		if !strings.Contains(tab.Text, secret) || strings.Contains(all, "API_KEY") || tab.Secret != secret || tab.LinkURL != "" {
			t.Errorf("%s: link %q, snippet %s %s", tab.Label, tab.LinkURL, all, tab.Secret)
		}
	}
	got := texts(tabs)
	for label, want := range map[string]string{
		"Claude Desktop": `{"mcpServers":{"docs":{"command":"npx","args":["-y","mcp-remote","https://x.example/mcp","--header","Authorization:${KEY_HEADER}"],"env":{"KEY_HEADER":"Bearer ` + secret + `"}}}}`,
		"VS Code":        `{"servers":{"docs":{"type":"http","url":"https://x.example/mcp","headers":{"Authorization":"Bearer ` + secret + `"}}}}`,
	} {
		if d := cmp.Diff(want, compact(t, got[label])); d != "" {
			t.Errorf("%s (-want +got):\n%s", label, d)
		}
	}
	if want := "[mcp_servers.\"docs\"]\nurl = \"https://x.example/mcp\"\nhttp_headers = { \"Authorization\" = \"Bearer " + secret + "\" }"; got["Codex"] != want {
		t.Errorf("Codex: %s", got["Codex"])
	}
}

func TestEditorLinksHaveNoKey(t *testing.T) {
	for _, tab := range (install.Remote{Name: "docs", URL: "https://x.example/mcp?q=a b+c", Key: "Bearer API_KEY"}).Tabs() {
		if tab.LinkURL == "" {
			continue
		}
		if ui.URL(tab.LinkURL) == "about:invalid" {
			t.Errorf("%s is not a valid link", tab.LinkURL)
		}
		u, err := url.Parse(tab.LinkURL)
		if err != nil {
			t.Fatal(err)
		}
		plain := tab.LinkURL
		switch u.Scheme {
		case "cursor":
			config, err := base64.StdEncoding.DecodeString(u.Query().Get("config"))
			if err != nil || string(config) != `{"url":"https://x.example/mcp?q=a b+c"}` {
				t.Errorf("Cursor config = %s, %v", config, err)
			}
			plain = string(config)
		case "vscode":
			config, err := url.PathUnescape(u.RawQuery)
			if err != nil || config != `{"name":"docs","type":"http","url":"https://x.example/mcp?q=a b+c"}` {
				t.Errorf("VS Code config = %s, %v", config, err)
			}
			plain = config
		}
		if strings.Contains(plain, "API_KEY") || strings.Contains(plain, "header") {
			t.Errorf("%s reveals the key header", plain)
		}
	}
}

// local returns a server with one package.
func local(kind, identifier string, variables ...string) install.Local {
	return install.Local{Name: "a", Packages: []models.CatalogPackage{{Type: kind, Identifier: identifier}}, Variables: variables}
}

func TestRunsOfServer(t *testing.T) {
	runs := install.Local{Name: "a", Variables: []string{"K"}, Packages: []models.CatalogPackage{
		{Type: "npm", Identifier: "@acme/mcp", Args: []string{"start", "--tools=all"}}, {Type: "pypi", Identifier: "-r"}, {Type: "oci", Identifier: "ghcr.io/acme/mcp:1"},
	}}.Runs()
	want := []install.Run{
		{"npx", `{"mcpServers":{"a":{"command":"npx","args":["-y","@acme/mcp","start","--tools=all"],"env":{"K":"${K}"}}}}`, "npx -y @acme/mcp start --tools=all", ""},
		{"Docker", `{"mcpServers":{"a":{"command":"docker","args":["run","--rm","-i","-e","K","ghcr.io/acme/mcp:1"],"env":{"K":"${K}"}}}}`, "docker run --rm -i -e K ghcr.io/acme/mcp:1", ""},
	}
	if len(runs) != len(want) {
		t.Fatalf("runs = %+v", runs)
	}
	for i, r := range runs {
		r.File = compact(t, r.File)
		if r != want[i] {
			t.Errorf("run %d = %+v, want %+v", i, r, want[i])
		}
	}
}

func TestLocalSnippets(t *testing.T) {
	for _, tc := range []struct {
		server install.Local
		want   string // the command; empty: nothing is known
	}{
		{local("npm", "@acme/mcp"), "npx -y @acme/mcp"},
		{local("pypi", "acme-mcp", "ACME_KEY"), "ACME_KEY=VALUE uvx acme-mcp"},
		{local("oci", "acme/mcp:1", "A", "B"), "A=VALUE B=VALUE docker run --rm -i -e A -e B acme/mcp:1"},
		{local("npm", "--eval=x"), ""},
		{install.Local{Name: "a"}, ""},
		{local("cargo", "acme"), ""},
		{install.Local{Name: "a", Packages: []models.CatalogPackage{{Type: "npm", Identifier: "-g"}, {Type: "pypi", Identifier: "b"}}}, "uvx b"},
	} {
		if got := texts(tc.server.Tabs())["Command"]; got != tc.want {
			t.Errorf("%+v: got %q, want %q", tc.server, got, tc.want)
		}
	}
	tabs := texts(local("pypi", "acme-mcp", "K").Tabs())
	for label, want := range map[string]string{
		"Claude Code":    "claude mcp add a --env K=VALUE -- uvx acme-mcp",
		"Claude Desktop": `{"mcpServers":{"a":{"command":"uvx","args":["acme-mcp"],"env":{"K":"VALUE"}}}}`,
		"VS Code":        `{"servers":{"a":{"type":"stdio","command":"uvx","args":["acme-mcp"],"env":{"K":"VALUE"}}}}`,
		"Cursor":         `{"mcpServers":{"a":{"command":"uvx","args":["acme-mcp"],"env":{"K":"VALUE"}}}}`,
		"Windsurf":       `{"mcpServers":{"a":{"command":"uvx","args":["acme-mcp"],"env":{"K":"VALUE"}}}}`,
		"Gemini CLI":     `{"mcpServers":{"a":{"command":"uvx","args":["acme-mcp"],"env":{"K":"VALUE"}}}}`,
		"Cline":          `{"mcpServers":{"a":{"command":"uvx","args":["acme-mcp"],"env":{"K":"VALUE"}}}}`,
		"Codex":          "[mcp_servers.\"a\"]\ncommand = \"uvx\"\nargs = [\"acme-mcp\"]\nenv = { \"K\" = \"VALUE\" }",
	} {
		got := tabs[label]
		if strings.HasPrefix(want, "{") {
			got = compact(t, got)
		}
		if got != want {
			t.Errorf("%s: got %s", label, got)
		}
	}
}

func TestLocalSnippetsCoverEveryClient(t *testing.T) {
	local := texts(local("npm", "acme").Tabs())
	for _, tab := range (install.Remote{Name: "a", URL: "https://x.example/mcp"}).Tabs() {
		if _, ok := local[tab.Label]; !ok && tab.Label != "curl" {
			t.Errorf("%s has no snippet for programs", tab.Label)
		}
	}
}

func TestSnippetsNameWhatUsersAdd(t *testing.T) {
	l := install.Local{Name: "a", Variables: []string{"K"}, Packages: []models.CatalogPackage{
		{Type: "npm", Identifier: "--eval=x", Needs: "nothing"}, {Type: "npm", Identifier: "acme", Needs: "the <b>folders\u202e that it may use."}, {Type: "pypi", Identifier: "acme"},
	}}
	const want = "Add to its command line: the <b>folders that it may use."
	for _, tab := range l.Tabs() {
		if !strings.Contains(tab.Note, want+" Replace VALUE with the value.") {
			t.Errorf("%s: note = %q", tab.Label, tab.Note)
		}
	}
	runs := l.Runs()
	if len(runs) != 2 || install.NeedsNote(runs[0].Needs) != want || install.NeedsNote(runs[1].Needs) != "" {
		t.Errorf("runs = %+v", runs)
	}
}

func TestShellQuoting(t *testing.T) {
	const evil = `https://x.example/'; touch "$HOME" $(id) ` + "`id`" + ` & | > < * ? \ !#`
	for _, tab := range (install.Remote{Name: "docs", URL: evil, Key: "API_KEY", In: "X'Key"}).Tabs() {
		if tab.Label != "Claude Code" && tab.Label != "curl" {
			continue
		}
		// The shell prints the words that the command would get.
		out, err := exec.CommandContext(t.Context(), "sh", "-c", `claude() { printf '%s\0' "$@"; }; curl() { printf '%s\0' "$@"; }; `+tab.Text).Output()
		if err != nil {
			t.Fatalf("%s: %v", tab.Text, err)
		}
		words := strings.Split(string(out), "\x00")
		found := false
		for _, w := range words {
			found = found || w == evil
		}
		if !found {
			t.Errorf("%s: words = %q", tab.Label, words)
		}
	}
}
