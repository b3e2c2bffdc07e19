package install

import (
	"encoding/base64"
	"net/url"
	"strings"

	"mcpgateway/views/ui"
)

// Remote is a server that clients reach at a URL.
type Remote struct {
	Name  string // name in the client: letters, digits, "-", "_" and "."
	URL   string
	SSE   bool   // only the older HTTP+SSE transport
	Key   string // header value with the key, such as "Bearer API_KEY"; may be empty
	In    string // the header that carries the key; Authorization unless it is set
	OAuth bool   // the client starts the sign-in
}

// Tabs returns the snippets of all clients for the server, each with a note on
// where to put it.
func (r Remote) Tabs() []ui.SnippetTab {
	return []ui.SnippetTab{
		{Label: "Claude Code", Text: r.claudeCode(), Note: r.claudeCodeNote()},
		{Label: "Claude Desktop, claude.ai", Text: r.URL, Note: r.connectorNote()},
		{Label: "Cursor", Text: servers("mcpServers", r.Name, r.cursor()), Note: "In ~/.cursor/mcp.json." + r.keyNote(), LinkLabel: "Add to Cursor", LinkURL: r.cursorLink()},
		{Label: "VS Code", Text: r.visualStudioCode(), Note: "In .vscode/mcp.json." + r.inputNote(), LinkLabel: "Add to VS Code", LinkURL: r.visualStudioCodeLink()},
		{Label: "Windsurf", Text: servers("mcpServers", r.Name, object{{"serverUrl", r.URL}}.with(r.headers())), Note: "In ~/.codeium/windsurf/mcp_config.json." + r.keyNote()},
		{Label: "Gemini CLI", Text: servers("mcpServers", r.Name, object{{r.pick("url", "httpUrl"), r.URL}}.with(r.headers())), Note: "In ~/.gemini/settings.json." + r.keyNote()},
		{Label: "Cline", Text: servers("mcpServers", r.Name, object{{"url", r.URL}, {"type", r.pick("sse", "streamableHttp")}}.with(r.headers())), Note: "In cline_mcp_settings.json." + r.keyNote()},
		{Label: "Codex", Text: r.codex(), Note: r.codexNote()},
		{Label: "curl", Text: r.curl(), Note: "The first message of a session. The response lists what the server supports."},
	}
}

// pick returns the argument for the server's transport.
func (r Remote) pick(sse, http string) string {
	if r.SSE {
		return sse
	}
	return http
}

func (r Remote) header() string {
	if r.In == "" {
		return "Authorization"
	}
	return r.In
}

// headers returns the headers of a JSON snippet, or nil.
func (r Remote) headers() object {
	if r.Key == "" {
		return nil
	}
	return object{{"headers", object{{r.header(), r.Key}}}}
}

// keyNote describes the value that replaces the placeholder.
func (r Remote) keyNote() string {
	switch {
	case r.Key != "":
		return " Replace API_KEY with your key."
	case r.OAuth:
		return " The client opens the sign-in page when it connects."
	}
	return ""
}

func (r Remote) inputNote() string {
	if r.Key != "" {
		return " The editor prompts for the key and stores it."
	}
	return r.keyNote()
}

func (r Remote) claudeCode() string {
	line := "claude mcp add --transport " + r.pick("sse", "http") + " " + word(r.Name) + " " + word(r.URL)
	if r.Key != "" {
		line += " --header " + word(r.header()+": "+r.Key)
	}
	return line
}

func (r Remote) claudeCodeNote() string {
	if r.OAuth {
		return "Then type /mcp in Claude Code to sign in."
	}
	return strings.TrimSpace(r.keyNote())
}

func (r Remote) connectorNote() string {
	note := "Settings, Connectors, Add custom connector: name it " + r.Name + " and enter this URL."
	if r.Key != "" {
		note += " Connectors can't send a key, which this server requires. Use a project endpoint with OAuth, or another client."
	}
	return note
}

func (r Remote) cursor() object { return object{{"url", r.URL}}.with(r.headers()) }

// cursorLink contains only the URL: a key in a link would be visible to
// everyone who sees the link.
func (r Remote) cursorLink() string {
	config := base64.StdEncoding.EncodeToString([]byte(line(object{{"url", r.URL}})))
	return "cursor://anysphere.cursor-deeplink/mcp/install?name=" + escape(r.Name) + "&config=" + escape(config)
}

func (r Remote) visualStudioCode() string {
	server := object{{"type", r.pick("sse", "http")}, {"url", r.URL}}
	if r.Key == "" {
		return text(object{{"servers", object{{r.Name, server}}}})
	}
	// The editor prompts for ${input:…} and does not write the value to the file.
	asked := object{{"headers", object{{r.header(), strings.Replace(r.Key, "API_KEY", "${input:key}", 1)}}}}
	return text(object{
		{"inputs", []any{object{{"type", "promptString"}, {"id", "key"}, {"description", "Key for " + r.Name}, {"password", true}}}},
		{"servers", object{{r.Name, server.with(asked)}}},
	})
}

func (r Remote) visualStudioCodeLink() string {
	return "vscode:mcp/install?" + escape(line(object{{"name", r.Name}, {"type", r.pick("sse", "http")}, {"url", r.URL}}))
}

func (r Remote) codex() string {
	if r.SSE {
		return ""
	}
	toml := "[mcp_servers." + quoted(r.Name) + "]\nurl = " + quoted(r.URL)
	switch {
	case r.Key == "Bearer API_KEY" && r.header() == "Authorization":
		toml += "\nbearer_token_env_var = " + quoted(EnvironmentName(r.Name))
	case r.Key != "":
		toml += "\nenv_http_headers = { " + quoted(r.header()) + " = " + quoted(EnvironmentName(r.Name)) + " }"
	}
	return toml
}

func (r Remote) codexNote() string {
	switch {
	case r.SSE:
		return "Codex supports only Streamable HTTP, which this server doesn't offer. Add the server to a project and connect Codex to the project."
	case r.Key != "":
		return "In ~/.codex/config.toml. Codex reads the key from the environment variable " + EnvironmentName(r.Name) + "."
	case r.OAuth:
		return "In ~/.codex/config.toml. Then sign in with: codex mcp login " + r.Name
	}
	return "In ~/.codex/config.toml."
}

// greeting is the initialize request of a session.
const greeting = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"curl","version":"1.0"}}}`

func (r Remote) curl() string {
	lines := []string{r.pick("curl -sN ", "curl -s ") + word(r.URL)}
	if r.Key != "" {
		lines = append(lines, "-H "+word(r.header()+": "+r.Key))
	}
	if r.SSE {
		return strings.Join(append(lines, "-H 'Accept: text/event-stream'"), " \\\n  ")
	}
	return strings.Join(append(lines, "-H 'Content-Type: application/json'", "-H 'Accept: application/json, text/event-stream'", "-d "+word(greeting)), " \\\n  ")
}

// escape escapes s for a link in which "+" does not mean a space.
func escape(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }
