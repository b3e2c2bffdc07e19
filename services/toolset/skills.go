package toolset

import "mcpgateway/services/fault"

// HasSkills reports whether the server with an alias has the extension for
// skills, and the view its resources.
func (o *Offers) HasSkills(alias string) bool {
	p := o.parts.byAlias[alias]
	return p != nil && p.open && p.capabilities.Skills
}

// Skill returns the SKILL.md with a URI that clients use, whether or not its
// server lists the skill. It returns NOT_FOUND if the URI belongs to no server
// with skills, if the server is off, and if the view doesn't include its
// resources.
func (o *Offers) Skill(uri string) (Resource, error) {
	found, err := o.at(o.book.Route(uri), uri)
	return o.ofSkills(found, err, "skill", uri, Capabilities{Skills: true})
}

// Folder returns the directory with a URI that clients use. It returns
// NOT_FOUND like Skill.
func (o *Offers) Folder(uri string) (Resource, error) {
	found, err := o.at(o.book.RouteDirectory(uri), uri)
	return o.ofSkills(found, err, "directory", uri, Capabilities{Directories: true})
}

// ofSkills returns what was found, if its server has the needed capability, and
// otherwise NOT_FOUND, because SEP-2640 requires -32602 in every revision.
func (o *Offers) ofSkills(found Resource, err error, what, uri string, need Capabilities) (Resource, error) {
	if err == nil {
		p := o.parts.byAlias[found.Server.Config.Alias]
		if p.open && (p.capabilities.Skills && need.Skills || p.capabilities.Directories && need.Directories) {
			return found, nil
		}
	}
	f := fault.NotFound(what, clip(uri, 256))
	if at := fault.From(err); err != nil && at.Fields["server"] != "" {
		f.Message = at.Message // of a server that is off
	}
	f.Fields = map[string]string{"uri": uri}
	return Resource{}, f
}
