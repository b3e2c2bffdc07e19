package install

import (
	"strings"

	"mcpgateway/models"
	"mcpgateway/views/ui"
)

// Local is a server that a computer runs as a program.
type Local struct {
	Name      string                  // name in the client
	Packages  []models.CatalogPackage // best first
	Variables []string                // names of the variables that it needs
}

// Run is a way to run a server.
type Run struct {
	Label   string // the program that runs it
	File    string // entry of a runner's file
	Command string // command line
	Needs   string // what users add to the command line; may be empty
}

// Runs returns the ways to run the server, best first: those whose package fits
// its grammar.
func (l Local) Runs() []Run {
	var runs []Run
	for _, p := range l.Packages {
		command := p.Command(l.Variables)
		if command == nil {
			continue
		}
		entry := l.entry(command, func(name string) string { return "${" + name + "}" })
		runs = append(runs, Run{Label: runner(p.Type), File: servers("mcpServers", l.Name, entry), Command: strings.Join(words(command), " "), Needs: p.Needs})
	}
	return runs
}

// runner returns the program that runs packages of a type.
func runner(kind string) string {
	switch kind {
	case "npm":
		return "npx"
	case "pypi":
		return "uvx"
	}
	return "Docker"
}

// Tabs returns the snippets of all clients for the server. It returns nil
// without a package that fits its grammar.
func (l Local) Tabs() []ui.SnippetTab {
	command, needs := l.command()
	if command == nil {
		return nil
	}
	note := strings.TrimSpace(NeedsNote(needs) + l.secretNote())
	file := servers("mcpServers", l.Name, l.entry(command, anyValue))
	return []ui.SnippetTab{
		{Label: "Command", Place: "Run in your terminal", Text: l.shell(command), Note: strings.TrimSpace("The server then uses its standard input and output. " + note)},
		{Label: "Claude Code", Place: "Run in your terminal", Text: l.claudeCode(command), Note: note},
		{Label: "Claude Desktop", Place: "claude_desktop_config.json", Text: file, Note: note},
		{Label: "Cursor", Place: "~/.cursor/mcp.json", Text: file, Note: note},
		{Label: "VS Code", Place: ".vscode/mcp.json", Text: servers("servers", l.Name, object{{"type", "stdio"}}.with(l.entry(command, anyValue))), Note: note},
		{Label: "Windsurf", Place: "~/.codeium/windsurf/mcp_config.json", Text: file, Note: note},
		{Label: "Gemini CLI", Place: "~/.gemini/settings.json", Text: file, Note: note},
		{Label: "Cline", Place: "cline_mcp_settings.json", Text: file, Note: note},
		{Label: "Codex", Place: "~/.codex/config.toml", Text: l.codex(command), Note: note},
	}
}

// command returns the best command, without values of variables, or nil, and
// what users add to it.
func (l Local) command() (command []string, needs string) {
	for _, p := range l.Packages {
		if command := p.Command(l.Variables); command != nil {
			return command, p.Needs
		}
	}
	return nil, ""
}

// NeedsNote returns what users add to the command line of a package as a
// sentence, or "".
func NeedsNote(needs string) string {
	if needs == "" {
		return ""
	}
	return "Add to its command line: " + strings.TrimSuffix(ui.Clean(needs), ".") + "."
}

func (l Local) secretNote() string {
	switch len(l.Variables) {
	case 0:
		return ""
	case 1:
		return " Replace VALUE with the value."
	}
	return " Replace each VALUE with your value."
}

func (l Local) shell(command []string) string {
	parts := make([]string, 0, len(l.Variables)+len(command))
	for _, name := range l.Variables {
		parts = append(parts, word(name)+"=VALUE")
	}
	return strings.Join(append(parts, words(command)...), " ")
}

func (l Local) claudeCode(command []string) string {
	parts := []string{"claude", "mcp", "add", word(l.Name)}
	for _, name := range l.Variables {
		parts = append(parts, "--env", word(name)+"=VALUE")
	}
	return strings.Join(append(append(parts, "--"), words(command)...), " ")
}

// anyValue returns what stands for the value of a variable.
func anyValue(string) string { return "VALUE" }

// entry returns the server for a JSON snippet. value returns the value of a
// variable.
func (l Local) entry(command []string, value func(name string) string) object {
	entry := object{{"command", command[0]}, {"args", command[1:]}}
	if len(l.Variables) == 0 {
		return entry
	}
	values := object{}
	for _, name := range l.Variables {
		values = append(values, member{name, value(name)})
	}
	return entry.with(object{{"env", values}})
}

func (l Local) codex(command []string) string {
	args := make([]string, len(command)-1)
	for i, arg := range command[1:] {
		args[i] = quoted(arg)
	}
	toml := "[mcp_servers." + quoted(l.Name) + "]\ncommand = " + quoted(command[0]) + "\nargs = [" + strings.Join(args, ", ") + "]"
	if len(l.Variables) == 0 {
		return toml
	}
	values := make([]string, len(l.Variables))
	for i, name := range l.Variables {
		values[i] = quoted(name) + ` = "VALUE"`
	}
	return toml + "\nenv = { " + strings.Join(values, ", ") + " }"
}
