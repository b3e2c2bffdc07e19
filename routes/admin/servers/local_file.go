package servers

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"mcpgateway/services/declaration"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/redact"
	"mcpgateway/services/secrets"
)

// fileEntry is an entry of a runner's file.
type fileEntry struct {
	Command string            `json:"command"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	Dir     string            `json:"cwd,omitempty"`
}

// localFile returns the file for a runner with the entry of a pasted program, for
// the page that shows it once. Values of variables, and arguments that can be
// secrets, are replaced by references, whose names are variables. It returns "" for
// an unusable entry.
func localFile(s declaration.PastedServer) (file string, variables []string) {
	o, err := rawjson.ParseObject(s.Raw, rawjson.Strict)
	if err != nil {
		return "", nil
	}
	entry := fileEntry{Command: s.Command}
	if program, ok := o.String("command"); ok {
		entry.Command = program
	}
	var args []string
	if raw := o.Get("args"); raw != nil {
		if json.Unmarshal(raw, &args) != nil {
			return "", nil
		}
		entry.Args = withoutSecrets(args)
	}
	if env := o.Object("env"); env != nil {
		entry.Env = references(env)
	}
	if dir, ok := o.String("cwd"); ok {
		entry.Dir = dir
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if e.Encode(map[string]any{"mcpServers": map[string]any{s.Alias: entry}}) != nil {
		return "", nil
	}
	variables = slices.Sorted(maps.Keys(entry.Env))
	if slices.ContainsFunc(entry.Args, func(arg string) bool { return strings.Contains(arg, secretReference) }) {
		variables = append(variables, secretVariable)
	}
	return string(bytes.TrimSpace(b.Bytes())), variables
}

// secretReference replaces a secret argument.
const (
	secretReference = "${" + secretVariable + "}"
	secretVariable  = "SECRET"
)

// withoutSecrets returns arguments in which secrets are references: the value of
// an option whose name is one of a secret, and texts that look like one.
func withoutSecrets(args []string) []string {
	shown := make([]string, len(args))
	option := "" // that the next argument belongs to
	for i, arg := range args {
		name, _, found := strings.Cut(arg, "=")
		switch isOption := strings.HasPrefix(arg, "-"); {
		case isOption && found && secrets.MayHold(name):
			shown[i] = name + "=" + secretReference
		case !isOption && option != "" && secrets.MayHold(option), redact.Text(arg) != arg:
			shown[i] = secretReference
		default:
			shown[i] = arg
		}
		option = ""
		if strings.HasPrefix(arg, "-") && !found {
			option = arg
		}
	}
	return shown
}

// references returns a reference for each variable.
func references(env *rawjson.Object) map[string]string {
	all := maps.Collect(env.All())
	named := make(map[string]string, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		named[name] = "${" + name + "}"
	}
	return named
}
