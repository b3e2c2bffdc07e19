package views

import (
	"slices"
	"strings"

	"mcpgateway/models"
	"mcpgateway/services/query"
	"mcpgateway/services/toolsearch/literal"
	"mcpgateway/services/toolset"
)

// build returns the view of a project that has a part of it.
func build(project *toolset.Snapshot, name string, p part) *toolset.Snapshot {
	selected := toolset.Selection{Name: name, WithoutPerson: p.withoutPerson}
	if p.everything {
		return project.View(all(selected))
	}
	var rules []rule
	for _, id := range p.toolsets {
		if row := project.Toolsets[id]; row != nil {
			rules = append(rules, ruleOf(row))
		}
		if id == p.endpoint {
			selected.Exposure = project.Toolsets[id].ToolExposure
		}
	}
	return project.View(selection(selected, rules))
}

// all completes a selection of everything.
func all(s toolset.Selection) toolset.Selection {
	s.Tool = func(*toolset.Tool) bool { return true }
	s.Toolsets = func(*toolset.Tool) []string { return nil }
	s.Offers = func(string, []*toolset.Tool) bool { return true }
	s.Names = func(string) bool { return true }
	return s
}

// Preview returns the view of a project that has the members of a toolset, which
// needs not be stored.
func Preview(project *toolset.Snapshot, row *models.Toolset) *toolset.Snapshot {
	return project.View(selection(toolset.Selection{Name: "preview"}, []rule{ruleOf(row)}))
}

// Member returns a function that reports whether a tool is a member of a
// toolset.
func Member(row *models.Toolset) func(*toolset.Tool) bool {
	r := ruleOf(row)
	return r.has
}

// selection completes a selection by the union of rules.
func selection(s toolset.Selection, rules []rule) toolset.Selection {
	s.Tool = func(t *toolset.Tool) bool {
		return slices.ContainsFunc(rules, func(r rule) bool { return r.has(t) })
	}
	s.Toolsets = func(t *toolset.Tool) (ids []string) {
		for i := range rules {
			if rules[i].has(t) {
				ids = append(ids, rules[i].row.ID)
			}
		}
		return ids
	}
	s.Offers = func(alias string, tools []*toolset.Tool) bool {
		return slices.ContainsFunc(rules, func(r rule) bool { return r.offers(alias, tools) })
	}
	s.Names = func(alias string) bool {
		return slices.ContainsFunc(rules, func(r rule) bool { return r.names(alias) })
	}
	return s
}

// rule decides which tools belong to a toolset.
type rule struct {
	row     *models.Toolset
	matches func(*toolset.Tool) bool // nil without a query
	servers []string                 // folded aliases that the query names
	include toolset.Patterns
	exclude toolset.Patterns
}

// ruleOf returns the rule of a toolset. A query that this release can't parse
// selects nothing.
func ruleOf(row *models.Toolset) rule {
	r := rule{row: row, include: toolset.NewPatterns(row.Include), exclude: toolset.NewPatterns(row.Exclude)}
	parsed, err := query.Toolsets().Parse(row.Query)
	if err != nil || len(parsed.Clauses) == 0 {
		return r
	}
	r.matches = literal.Matcher(parsed)
	for _, c := range parsed.Clauses {
		if c.Qualifier == "server" && !c.Negated {
			r.servers = append(r.servers, c.Folded)
		}
	}
	return r
}

// has reports whether a tool is a member: the query or include selects it, and
// exclude doesn't, by its exported name or by the one without its override.
func (r *rule) has(t *toolset.Tool) bool {
	if r.exclude.Match(t.FullName) || t.Override != nil && r.exclude.Match(t.OwnName()) {
		return false
	}
	return r.matches != nil && r.matches(t) || r.include.Match(t.FullName)
}

// offers reports whether the prompts and resources of a server with the tools
// belong to the toolset.
func (r *rule) offers(alias string, tools []*toolset.Tool) bool {
	return slices.Contains(r.row.OffersOf, alias) || slices.Contains(r.row.OffersOf, "*") && slices.ContainsFunc(tools, r.has)
}

// names reports whether the toolset names a server literally.
func (r *rule) names(alias string) bool {
	if slices.Contains(r.row.OffersOf, alias) || slices.Contains(r.servers, query.Fold(alias)) {
		return true
	}
	return slices.ContainsFunc(r.row.Include, func(pattern string) bool {
		return strings.HasPrefix(pattern, alias+toolset.Separator)
	})
}
