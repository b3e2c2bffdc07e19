package clientfile_test

import (
	"testing"

	"mcpgateway/services/clientfile"
)

func TestCommandLines(t *testing.T) {
	for text, want := range map[string]string{
		`npx -y @modelcontextprotocol/server-filesystem /tmp`:                         `filesystem {"command":"npx","args":["-y","@modelcontextprotocol/server-filesystem","/tmp"]}`,
		"$ uvx mcp-server-git@1.2 \\\n  --repository \"/a b\"":                        `git {"command":"uvx","args":["mcp-server-git@1.2","--repository","/a b"]}`,
		`docker run -i --rm mcp/github:latest`:                                        `github {"command":"docker","args":["run","-i","--rm","mcp/github:latest"]}`,
		`npx mcp-remote https://mcp.linear.app/sse`:                                   `linear {"command":"npx","args":["mcp-remote","https://mcp.linear.app/sse"]}`,
		`claude mcp add --transport http sentry https://mcp.sentry.dev/mcp`:           `sentry {"type":"http","url":"https://mcp.sentry.dev/mcp"}`,
		`claude mcp add -s user hub https://h.example/mcp --header "X-Key: a secret"`: `hub {"url":"https://h.example/mcp","headers":{"X-Key":"a secret"}}`,
		`claude mcp add files -- npx -y server-files`:                                 `files {"command":"npx","args":["-y","server-files"]}`,
		`codex mcp add docs --url https://d.example/mcp`:                              `docs {"url":"https://d.example/mcp"}`,
	} {
		f, err := clientfile.Parse(text)
		if err != nil || len(f.Servers) != 1 {
			t.Errorf("%s: %v, %+v", text, err, f)
			continue
		}
		if got := f.Servers[0].Name + " " + string(f.Servers[0].Raw); got != want {
			t.Errorf("%s:\n got %s\nwant %s", text, got, want)
		}
	}
	for _, text := range []string{"npx", "npx \"open", "rm -rf /", "claude mcp list", "claude mcp add x", "npx a\nnpx b", "hello there"} {
		if f, err := clientfile.Parse(text); err == nil {
			t.Errorf("%q: %+v", text, f)
		}
	}
}

func TestCutOffJSON(t *testing.T) {
	const want = "the JSON is cut off: a closing } is missing"
	for _, text := range []string{`{"mcpServers":{"a":{"url":"https://a.example"}`, `{"mcpServers":{"a":{"url":"https://a.example`, `{"mcpServers":{`, `{"a":{"url":"https://a.example"},`, `{"mcpServers":{"a":`, `{`} {
		if _, err := clientfile.Parse(text); err == nil || err.Error() != want {
			t.Errorf("%s: %v", text, err)
		}
	}
}
