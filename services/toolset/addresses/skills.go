package addresses

import (
	"strings"

	"mcpgateway/models"
	"mcpgateway/services/rawjson"
)

// MetaServer is the member of a skill's _meta with the alias of its server: to
// clients all skills of a project come from one server.
const MetaServer = "gateway/server"

// RouteDirectory returns the server of the URI of a directory, which can be the
// root of a skill without its final slash (SEP-2640).
func (b *Book) RouteDirectory(uri string) Route {
	route := b.Route(uri)
	if route.Claimed || b == nil || strings.HasSuffix(uri, "/") {
		return route
	}
	if inside := b.Route(uri + "/"); inside.Claimed {
		inside.Text = strings.TrimSuffix(inside.Text, "/")
		return inside
	}
	return route
}

// Skill returns an entry of skills/list of a server as it is shown to clients,
// given the URI of its SKILL.md. It is nil if it can't be shown.
func (b *Book) Skill(alias, uri string, entry []byte) []byte {
	root := SkillRoot(uri)
	shown, ok := b.Listed(alias, models.ClaimPrefix, root)
	if !ok {
		return nil
	}
	return edit(entry, func(o *rawjson.Object) bool { return b.editSkill(o, alias, root, shown) })
}

// SkillResult returns the result of skills/get of a server, which received the
// URI sent, for a client that requested asked.
func (b *Book) SkillResult(alias, asked, sent string, result []byte) []byte {
	root, shown := SkillRoot(sent), asked
	if root != sent {
		shown = SkillRoot(asked)
	}
	return edit(result, func(o *rawjson.Object) bool {
		return member(o, "skill", func(skill *rawjson.Object) bool { return b.editSkill(skill, alias, root, shown) })
	})
}

// DirectoryResult returns the result of resources/directory/read of a server,
// which received the URI sent, for a client that requested asked.
func (b *Book) DirectoryResult(alias, asked, sent string, result []byte) []byte {
	if b.Single() && sent == asked || !hasURI(result) {
		return result
	}
	root, shown := strings.TrimSuffix(sent, "/")+"/", strings.TrimSuffix(asked, "/")+"/"
	return edit(result, func(o *rawjson.Object) bool {
		return elements(o, "resources", func(child *rawjson.Object) bool {
			return editString(child, "uri", b.within(alias, root, shown))
		})
	})
}

// editSkill edits the URIs of a skill and of its files, and adds the alias.
func (b *Book) editSkill(skill *rawjson.Object, alias, root, shown string) bool {
	meta := skill.Object("_meta")
	if meta == nil {
		meta, _ = rawjson.ParseObject([]byte("{}"), rawjson.Strict)
	}
	meta.Set(MetaServer, rawjson.Quote(alias))
	skill.Set("_meta", meta.Bytes())
	if b.Single() && root == shown {
		return true
	}
	uri := b.within(alias, root, shown)
	editString(skill, "uri", uri)
	elements(skill, "resources", func(file *rawjson.Object) bool { return editString(file, "uri", uri) })
	return true
}

// within returns the function that returns the text to show for a server's URI:
// below a root that is shown differently it keeps its relative path.
func (b *Book) within(alias, root, shown string) func(string) string {
	return func(uri string) string {
		if path, ok := strings.CutPrefix(uri, root); ok {
			return shown + path
		}
		return b.Shown(alias, uri)
	}
}
