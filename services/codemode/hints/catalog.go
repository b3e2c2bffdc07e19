package hints

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"mcpgateway/services/nearest"
	"mcpgateway/services/typescript"
)

// maxServers is the maximum number of servers in a hint.
const maxServers = 10

// catalog finds the tools that names stand for.
type catalog struct {
	tools   []Tool
	aliases []string
	idents  []string // names of the aliases in code
}

func newCatalog(tools []Tool) *catalog {
	c := &catalog{tools: tools}
	for _, t := range tools {
		if !slices.Contains(c.aliases, t.Alias) {
			c.aliases = append(c.aliases, t.Alias)
			c.idents = append(c.idents, typescript.Identifier(t.Alias))
		}
	}
	return c
}

// plain returns a name without differences of case and separators.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("_-.$ /", r) {
			return -1
		}
		return r
	}, strings.ToLower(name))
}

// alias returns the alias that a name in code stands for: its identifier, or the
// same apart from case and separators. exact reports the first.
func (c *catalog) alias(name string) (alias string, exact bool) {
	if i := slices.Index(c.idents, name); i >= 0 {
		return c.aliases[i], true
	}
	if name = plain(name); name == "" {
		return "", false
	}
	for i, a := range c.aliases {
		if plain(a) == name || plain(c.idents[i]) == name {
			return a, false
		}
	}
	return "", false
}

// tool returns the tool of a server with exactly this name.
func (c *catalog) tool(alias, name string) (Tool, bool) {
	i := slices.IndexFunc(c.tools, func(t Tool) bool { return t.Alias == alias && t.Name == name })
	if i < 0 {
		return Tool{}, false
	}
	return c.tools[i], true
}

// near returns the tool that an unknown name of a server likely stands for, also
// of another server.
func (c *catalog) near(alias, name string) (Tool, bool) {
	var own []string
	for _, t := range c.tools {
		if t.Alias == alias {
			own = append(own, t.Name)
		}
	}
	for _, n := range own {
		if plain(n) == plain(name) {
			return c.tool(alias, n)
		}
	}
	for _, t := range c.tools {
		if t.Alias != alias && plain(t.Name) == plain(name) {
			return t, true
		}
	}
	if n := nearest.Name(name, own); n != "" {
		return c.tool(alias, n)
	}
	return Tool{}, false
}

// full returns the tool that a text such as alias__tool, alias.tool or
// alias_tool stands for.
func (c *catalog) full(name string) (Tool, bool) {
	for _, t := range c.tools {
		if t.Full == name {
			return t, true
		}
	}
	for _, t := range c.tools {
		if plain(t.Full) == plain(name) {
			return t, true
		}
	}
	return Tool{}, false
}

var isName = regexp.MustCompile(`^[A-Za-z_$][\w$]*$`)

// member returns a tool as code names it: github.list_issues, or
// github["list-issues"].
func member(t Tool) string {
	if isName.MatchString(t.Name) {
		return typescript.Identifier(t.Alias) + "." + t.Name
	}
	return fmt.Sprintf("%s[%q]", typescript.Identifier(t.Alias), t.Name)
}

// called returns the tool of a receipt as code names it.
func (c *catalog) called(full string) string {
	for _, t := range c.tools {
		if t.Full == full {
			return member(t)
		}
	}
	return full
}

// servers returns the names of the servers in code.
func (c *catalog) servers() string {
	var names []string
	for i, a := range c.aliases {
		if i == maxServers {
			names = append(names, "…")
			break
		}
		names = append(names, typescript.Identifier(a))
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// form returns how to write a call, with t as the example.
func (c *catalog) form(t Tool, known bool) string {
	if !known && len(c.tools) > 0 {
		t = c.tools[0]
	}
	if t.Full == "" {
		return `write gateway.call("alias__tool", {…}); servers here: none`
	}
	return fmt.Sprintf(`write %s({…}) or gateway.call("alias__tool", {…}); servers here: %s`, member(t), c.servers())
}
