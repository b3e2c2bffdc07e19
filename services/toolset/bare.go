package toolset

import (
	"strings"

	"mcpgateway/models"
	"mcpgateway/services/rawjson"
)

// bareNaming decides which names are listed without the alias of the server.
// The zero value lists all of them with it.
type bareNaming struct {
	on    bool
	limit int // of the length of names; 0 means unlimited
}

func bareNamingOf(project *models.Project) bareNaming {
	return bareNaming{on: project.ToolNames == models.NamesBare, limit: project.ToolNameLimit}
}

// name returns the name without alias under which an item is listed if no other
// one has it.
func (n bareNaming) name(local string) string { return ShortenName(local, n.limit) }

// bareNames returns the items that are listed without alias, by that name: those
// whose name no other item of the parts has. Names that could be the exported name
// of another item are left out. each calls its argument with every listed item and
// its name after the alias.
func bareNames[T any](p *parts, naming bareNaming, of func(*serverPart) map[string]*T, each func(func(local string, item *T))) map[string]*T {
	if !naming.on {
		return nil
	}
	found, repeated := map[string]*T{}, map[string]bool{}
	each(func(local string, item *T) {
		name := naming.name(local)
		if _, ok := found[name]; ok {
			repeated[name] = true
		}
		found[name] = item
	})
	for name := range found {
		if repeated[name] || p.startsWithAlias(name) || lookUp(p, name, of) != nil {
			delete(found, name)
		}
	}
	return found
}

// startsWithAlias reports whether a name has the form of a tool of one of the
// servers, whether or not that tool exists.
func (p *parts) startsWithAlias(name string) bool {
	alias, _, ok := strings.Cut(name, Separator)
	return ok && p.byAlias[alias] != nil
}

// bareTools is the key of the tools that are listed without alias, derived from a
// snapshot.
type bareTools struct{}

// bareTools returns the tools that are listed without alias, by that name. Only
// visible tools count, so that the names in a view don't depend on tools outside
// of it. Names of built-in tools are left out.
func (s *Snapshot) bareTools() map[string]*Tool {
	naming := bareNamingOf(&s.Project)
	if !naming.on {
		return nil
	}
	return Derive(s, bareTools{}, func() map[string]*Tool {
		names := bareNames(s.parts, naming, toolsOf, func(add func(string, *Tool)) {
			for _, t := range s.Tools {
				add(t.Local(), t)
			}
		})
		for _, name := range Builtins() {
			delete(names, name)
		}
		return names
	})
}

// bareDefinition is the key of a tool's definition with another name.
type bareDefinition struct {
	name string
	era  Era
}

// listedDefinition returns a function that returns the definition of a tool as
// listed for the era.
func (s *Snapshot) listedDefinition(era Era) func(*Tool) []byte {
	bare := s.bareTools()
	if len(bare) == 0 {
		return func(t *Tool) []byte { return t.definition(era) }
	}
	naming := bareNamingOf(&s.Project)
	return func(t *Tool) []byte {
		name := naming.name(t.Local())
		if bare[name] != t {
			return t.definition(era)
		}
		return Memo(t, bareDefinition{name, era}, func() []byte { return renamed(t.definition(era), name) })
	}
}

// renamed returns a definition with another name.
func renamed(definition []byte, name string) []byte {
	o, err := rawjson.ParseObject(definition, rawjson.Lenient)
	if err != nil {
		return definition // stored definitions are valid objects
	}
	return exportDefinition(o, name)
}

// prefixedTools returns the full names of the visible tools that are listed with
// their alias although the project lists names without it.
func (s *Snapshot) prefixedTools() (names []string) {
	bare := s.bareTools()
	if bare == nil {
		return nil
	}
	naming := bareNamingOf(&s.Project)
	for _, t := range s.Tools {
		if bare[naming.name(t.Local())] != t {
			names = append(names, t.FullName)
		}
	}
	return names
}

// barePrompts returns the prompts that are listed without alias, by that name.
func barePrompts(all *parts, naming bareNaming) map[string]*Prompt {
	return bareNames(all, naming, promptsOf, func(add func(string, *Prompt)) {
		for _, p := range all.ordered {
			for _, o := range p.offers {
				if o.kind == models.ListingPrompt {
					add(o.ident, p.prompt(o.ident))
				}
			}
		}
	})
}

// prompt returns the prompt with the server's own name.
func (p *serverPart) prompt(name string) *Prompt {
	return p.prompts[JoinName(p.server.Config.Alias, name)]
}

// Definitions returns the definitions of Tools as listed for the era, in the same
// order. The caller must not modify them.
func (s *Snapshot) Definitions(era Era) [][]byte {
	definition := s.listedDefinition(era)
	all := make([][]byte, len(s.Tools))
	for i, t := range s.Tools {
		all[i] = definition(t)
	}
	return all
}
