package clientfile

import (
	"path"
	"slices"
	"strings"

	"mcpgateway/services/rawjson"
)

// launchers are the programs that start the servers of clients.
var launchers = []string{"bun", "bunx", "deno", "docker", "dotnet", "go", "java", "node", "npx", "pipx", "pnpm", "podman", "python", "python3", "uv", "uvx", "yarn"}

// commandLine returns the server of a command line: a program, or the command of
// Claude Code and Codex that adds a server. ok is false if the text is neither.
func commandLine(text string) (s Server, ok bool) {
	words := shellWords(strings.TrimPrefix(text, "$ "))
	if len(words) < 2 {
		return Server{}, false
	}
	if len(words) > 3 && words[1] == "mcp" && words[2] == "add" && slices.Contains([]string{"claude", "codex", "gemini"}, words[0]) {
		return added(words[3:])
	}
	if slices.Contains(launchers, words[0]) {
		return Server{Name: nameOfCommand(words), Raw: program(words)}, true
	}
	return Server{}, false
}

// added returns the server of the arguments of `mcp add`.
func added(args []string) (s Server, ok bool) {
	entry, _ := rawjson.ParseObject([]byte("{}"), rawjson.Strict)
	headers, _ := rawjson.ParseObject([]byte("{}"), rawjson.Strict)
	var names []string
	for i := 0; i < len(args); i++ {
		flag, value, joined := strings.Cut(args[i], "=")
		switch {
		case args[i] == "--":
			if len(names) != 1 || i+1 == len(args) {
				return Server{}, false
			}
			return Server{Name: names[0], Raw: program(args[i+1:])}, true
		case !strings.HasPrefix(flag, "-"):
			names = append(names, args[i])
			continue
		case !joined && i+1 < len(args):
			i++
			value = args[i]
		}
		switch flag {
		case "-t", "--transport":
			entry.Set("type", rawjson.Quote(value))
		case "-H", "--header":
			name, header, _ := strings.Cut(value, ":")
			headers.Set(strings.TrimSpace(name), rawjson.Quote(strings.TrimSpace(header)))
		case "--url":
			names = append(names, value)
		}
	}
	if len(names) < 2 {
		return Server{}, false
	}
	if _, remote := remoteURL(names[1]); !remote {
		return Server{Name: names[0], Raw: program(names[1:])}, true
	}
	entry.Set("url", rawjson.Quote(names[1]))
	if headers.Len() > 0 {
		entry.Set("headers", headers.Bytes())
	}
	return Server{Name: names[0], Raw: entry.Bytes()}, true
}

// program returns the entry of a program with its arguments.
func program(words []string) []byte {
	entry, _ := rawjson.ParseObject([]byte("{}"), rawjson.Strict)
	entry.Set("command", rawjson.Quote(words[0]))
	entry.Set("args", list(words[1:]))
	return entry.Bytes()
}

// nameOfCommand returns a readable alias for a command: the name of its package.
func nameOfCommand(words []string) string {
	for _, word := range words[1:] {
		if u, remote := remoteURL(word); remote {
			return aliasOf(u)
		}
		if word == "mcp-remote" || strings.HasPrefix(word, "-") || slices.Contains([]string{"run", "tool", "dlx", "exec", "x"}, word) {
			continue
		}
		name := path.Base(strings.ToLower(word))
		if i := strings.LastIndexAny(name, "@:"); i > 0 {
			name = name[:i]
		}
		for _, part := range []string{"mcp-server-", "server-", "mcp-"} {
			name = strings.TrimPrefix(name, part)
		}
		for _, part := range []string{"-mcp-server", "-server", "-mcp"} {
			name = strings.TrimSuffix(name, part)
		}
		if name = strings.Trim(notAlias.ReplaceAllString(name, "-"), "-"); name != "" && name != "gateway" && len(name) <= 64 {
			return name
		}
	}
	return "server"
}

// shellWords splits a command line at spaces outside quotes. A backslash at the end
// of a line continues it. It returns nil for several lines or an open quote.
func shellWords(text string) []string {
	text = strings.NewReplacer("\\\r\n", " ", "\\\n", " ").Replace(text)
	if strings.ContainsAny(text, "\r\n") {
		return nil
	}
	var words []string
	var word strings.Builder
	inWord, quote := false, rune(0)
	for _, r := range text {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '"' || r == '\'':
			quote, inWord = r, true
		case r == ' ' || r == '\t':
			if inWord {
				words = append(words, word.String())
			}
			word.Reset()
			inWord = false
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	if quote != 0 {
		return nil
	}
	if inWord {
		words = append(words, word.String())
	}
	return words
}
