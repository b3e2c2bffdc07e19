package entry

import (
	"slices"
	"strings"

	"mcpgateway/services/redact"
)

// Secrets returns the values that must not appear in logs: those of the
// references in the command, and of variables with secret names. program is the
// resolved command. The variables that every program gets are not secret, except
// those with secret names.
func (c *Command) Secrets(from Environment, program *Program) []string {
	var found []string
	add := func(value string) {
		found = append(found, value)
		for line := range strings.Lines(value) { // programs print single lines
			found = append(found, strings.TrimSpace(line))
		}
	}
	written := append([]string{c.Dir}, c.Args...)
	for _, value := range c.Env {
		written = append(written, value)
	}
	for _, text := range written {
		for _, match := range reference.FindAllStringSubmatch(text, -1) {
			name, _, _ := strings.Cut(strings.TrimPrefix(match[1], "env:"), ":-")
			if !slices.Contains(base, name) && !strings.HasPrefix(name, "LC_") {
				add(from[name])
			}
		}
	}
	for _, variable := range program.Env {
		if name, value, _ := strings.Cut(variable, "="); redact.Secret(name) {
			add(value)
		}
	}
	return found
}
