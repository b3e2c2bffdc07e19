// Package contextcost estimates what the tool list of a project costs in the
// context of a client's model: its characters divided by 4, about one token each.
package contextcost

import (
	"cmp"
	"encoding/json"
	"unicode/utf8"

	"mcpgateway/models"
	"mcpgateway/services/toolset"
	"mcpgateway/services/toolset/views"
)

// CharactersPerToken is the usual number of characters of a token.
const CharactersPerToken = 4

// Tokens returns the estimated tokens of a number of characters, rounded up.
func Tokens(characters int) int { return (characters + CharactersPerToken - 1) / CharactersPerToken }

// Builtins returns the definitions of the built-in tools of a project. Implemented
// by gateway.Gateway.
type Builtins interface {
	Builtins(project *toolset.Snapshot) []json.RawMessage
}

// Tool is the cost of a listed tool.
type Tool struct {
	Name       string
	Server     string // alias
	Characters int
}

// Server is the cost of the listed tools of a server.
type Server struct {
	Alias      string
	Tools      int
	Characters int
}

// Toolset is the cost of the endpoint of a toolset.
type Toolset struct {
	ID         string
	Slug, Name string
	Tools      int // without built-in ones
	Characters int // of its list, with its exposure
}

// Cost is the cost of the tool list of a project. Listed depends on the exposure of
// the project; the other numbers don't.
type Cost struct {
	Exposure models.ToolExposure
	Listed   int // characters of the list that clients of the project's endpoint receive
	Full     int // characters with the exposure full
	Builtin  int // characters of the built-in tools, which is the list with the exposure builtin
	Servers  []Server
	Tools    []Tool // in the order of the list
	Toolsets []Toolset
}

// Of returns the cost of the tool list of a project for a caller who may use
// everything.
func Of(project *toolset.Snapshot, builtins Builtins) *Cost {
	type key struct{}
	return toolset.Derive(project, key{}, func() *Cost { return of(project, builtins) })
}

func of(project *toolset.Snapshot, builtins Builtins) *Cost {
	c := &Cost{Exposure: project.Project.ToolExposure, Builtin: builtin(project, builtins)}
	servers := map[string]int{}
	for i, definition := range project.Definitions(toolset.EraHandshake) {
		tool := project.Tools[i]
		alias, n := tool.Server.Config.Alias, utf8.RuneCount(definition)
		at, ok := servers[alias]
		if !ok {
			at, c.Servers = len(c.Servers), append(c.Servers, Server{Alias: alias})
			servers[alias] = at
		}
		c.Servers[at].Tools++
		c.Servers[at].Characters += n
		c.Tools = append(c.Tools, Tool{Name: tool.Name, Server: alias, Characters: n})
		c.Full += n
	}
	c.Full += c.Builtin
	c.Listed = listed(c.Exposure, c.Full, c.Builtin)
	for _, row := range project.ToolsetsBySlug() {
		view := views.Preview(project, row)
		own := builtin(view, builtins)
		full := own
		for _, definition := range view.Definitions(toolset.EraHandshake) {
			full += utf8.RuneCount(definition)
		}
		c.Toolsets = append(c.Toolsets, Toolset{
			ID: row.ID, Slug: row.Slug, Name: row.Name, Tools: len(view.Tools), Characters: listed(cmp.Or(row.ToolExposure, c.Exposure), full, own),
		})
	}
	return c
}

// listed returns the characters of a list with an exposure.
func listed(exposure models.ToolExposure, full, builtin int) int {
	if exposure == models.ExposeBuiltin {
		return builtin
	}
	return full
}

func builtin(view *toolset.Snapshot, builtins Builtins) (characters int) {
	for _, definition := range builtins.Builtins(view) {
		characters += utf8.RuneCount(definition)
	}
	return characters
}
