package install

import (
	"strings"

	"mcpgateway/views/ui"
)

// Local is a server that clients start as a program.
type Local struct {
	Name    string // name in the client
	Kind    string // npm, pypi or oci
	Package string // name in its registry
	Secrets []string
}

// Tabs returns the snippets of all clients for the server. It returns nil if the
// kind is unknown, or if the package manager could misinterpret the package name.
func (l Local) Tabs() []ui.SnippetTab {
	command := l.command()
	if command == nil {
		return nil
	}
	note := strings.TrimSpace(l.secretNote())
	return []ui.SnippetTab{
		{Label: "Command", Place: "Run in your terminal", Text: l.shell(command), Note: strings.TrimSpace("The server then uses its standard input and output. " + note)},
		{Label: "Claude Code", Place: "Run in your terminal", Text: l.claudeCode(command), Note: note},
		{Label: "Claude Desktop", Place: "claude_desktop_config.json", Text: servers("mcpServers", l.Name, l.entry(command)), Note: note},
		{Label: "Cursor", Place: "~/.cursor/mcp.json", Text: servers("mcpServers", l.Name, l.entry(command)), Note: note},
		{Label: "VS Code", Place: ".vscode/mcp.json", Text: servers("servers", l.Name, object{{"type", "stdio"}}.with(l.entry(command))), Note: note},
		{Label: "Codex", Place: "~/.codex/config.toml", Text: l.codex(command), Note: note},
	}
}

// command returns the program with its arguments, without secret values.
func (l Local) command() []string {
	if l.Package == "" || strings.HasPrefix(l.Package, "-") || ui.Hidden(l.Package) || strings.ContainsAny(l.Package, " \t\n") {
		return nil
	}
	switch l.Kind {
	case "npm":
		return []string{"npx", "-y", l.Package}
	case "pypi":
		return []string{"uvx", l.Package}
	case "oci":
		command := []string{"docker", "run", "-i", "--rm"}
		for _, name := range l.Secrets {
			// Without a value, docker copies the variable from its environment.
			command = append(command, "-e", name)
		}
		return append(command, l.Package)
	}
	return nil
}

func (l Local) secretNote() string {
	switch len(l.Secrets) {
	case 0:
		return ""
	case 1:
		return " Replace VALUE with the value."
	}
	return " Replace each VALUE with your value."
}

func (l Local) shell(command []string) string {
	parts := make([]string, 0, len(l.Secrets)+len(command))
	for _, name := range l.Secrets {
		parts = append(parts, word(name)+"=VALUE")
	}
	return strings.Join(append(parts, words(command)...), " ")
}

func (l Local) claudeCode(command []string) string {
	parts := []string{"claude", "mcp", "add", word(l.Name)}
	for _, name := range l.Secrets {
		parts = append(parts, "--env", word(name)+"=VALUE")
	}
	return strings.Join(append(append(parts, "--"), words(command)...), " ")
}

// entry returns the server for a JSON snippet.
func (l Local) entry(command []string) object {
	entry := object{{"command", command[0]}, {"args", command[1:]}}
	if len(l.Secrets) == 0 {
		return entry
	}
	values := object{}
	for _, name := range l.Secrets {
		values = append(values, member{name, "VALUE"})
	}
	return entry.with(object{{"env", values}})
}

func (l Local) codex(command []string) string {
	args := make([]string, len(command)-1)
	for i, arg := range command[1:] {
		args[i] = quoted(arg)
	}
	toml := "[mcp_servers." + quoted(l.Name) + "]\ncommand = " + quoted(command[0]) + "\nargs = [" + strings.Join(args, ", ") + "]"
	if len(l.Secrets) == 0 {
		return toml
	}
	values := make([]string, len(l.Secrets))
	for i, name := range l.Secrets {
		values[i] = quoted(name) + ` = "VALUE"`
	}
	return toml + "\nenv = { " + strings.Join(values, ", ") + " }"
}
