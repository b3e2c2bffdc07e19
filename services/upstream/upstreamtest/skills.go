package upstreamtest

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// SkillsCapabilities are the capabilities of a server with [SkillMethods].
const SkillsCapabilities = `{"tools":{},"resources":{},"extensions":{"io.modelcontextprotocol/skills":{"directoryRead":true}}}`

// Skill is a skill of a server (SEP-2640).
type Skill struct {
	URI         string            // of its SKILL.md, such as skill://refunds/SKILL.md
	Description string            // in its frontmatter
	Files       map[string]string // texts by path below the skill's root, without SKILL.md
}

// skillFile is a file in the entry of a skill.
type skillFile struct {
	URI    string `json:"uri"`
	Digest string `json:"digest"`
	Size   int    `json:"size"`
}

// skillEntry is an entry of skills/list.
type skillEntry struct {
	URI         string            `json:"uri"`
	Frontmatter map[string]string `json:"frontmatter"`
	Resources   []skillFile       `json:"resources"`
}

// root returns the URI of the skill's folder, with a final slash.
func (s *Skill) root() string { return strings.TrimSuffix(s.URI, "SKILL.md") }

// files returns the texts of the skill's files by URI.
func (s *Skill) files() map[string]string {
	segments := strings.Split(s.root(), "/")
	all := map[string]string{s.URI: "---\nname: " + segments[len(segments)-2] + "\ndescription: " + s.Description + "\n---\n"}
	for path, text := range s.Files {
		all[s.root()+path] = text
	}
	return all
}

func (s *Skill) entry() skillEntry {
	segments := strings.Split(s.root(), "/")
	e := skillEntry{URI: s.URI, Frontmatter: map[string]string{"name": segments[len(segments)-2], "description": s.Description}}
	files := s.files()
	for _, uri := range slices.Sorted(maps.Keys(files)) {
		e.Resources = append(e.Resources, skillFile{URI: uri, Digest: fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(files[uri]))), Size: len(files[uri])})
	}
	return e
}

// SkillMethods returns the methods of a server with skills: those of SEP-2640,
// and resources/list and resources/read. Pages of skills/list have at most
// pageSize entries; 0 means all in one. The server's Capabilities must be
// [SkillsCapabilities].
func SkillMethods(pageSize int, skills ...Skill) map[string]Handler {
	files := map[string]string{}
	for i := range skills {
		maps.Copy(files, skills[i].files())
	}
	byURI := func(c *Call) string { uri, _ := c.params.String("uri"); return uri }
	return map[string]Handler{
		"resources/list": func(context.Context, *Call) Result { return JSON(`{"resources":[]}`) },
		"resources/read": func(_ context.Context, c *Call) Result {
			text, ok := files[byURI(c)]
			if !ok {
				return Error(codeInvalidParams, "Unknown resource")
			}
			return encoded(map[string]any{"contents": []map[string]string{{"uri": byURI(c), "text": text}}})
		},
		"skills/list": func(_ context.Context, c *Call) Result { return listSkills(c, pageSize, skills) },
		"skills/get": func(_ context.Context, c *Call) Result {
			for i := range skills {
				if skills[i].URI == byURI(c) {
					return encoded(map[string]any{"skill": skills[i].entry()})
				}
			}
			return Error(codeInvalidParams, "Unknown skill")
		},
		"resources/directory/read": func(_ context.Context, c *Call) Result { return readDirectory(byURI(c), files) },
	}
}

// listSkills returns a page of skills/list. Cursors are the number of entries
// before the page.
func listSkills(c *Call, pageSize int, skills []Skill) Result {
	start := 0
	if cursor, ok := c.params.String("cursor"); ok {
		if _, err := fmt.Sscan(cursor, &start); err != nil || start < 0 || start > len(skills) {
			return Error(codeInvalidParams, "Invalid cursor")
		}
	}
	end := min(start+cmp.Or(pageSize, len(skills)), len(skills))
	entries := []skillEntry{}
	for i := range skills[start:end] {
		entries = append(entries, skills[start+i].entry())
	}
	result := map[string]any{"skills": entries}
	if end < len(skills) {
		result["nextCursor"] = fmt.Sprint(end)
	}
	return encoded(result)
}

// readDirectory returns the direct children of a folder.
func readDirectory(uri string, files map[string]string) Result {
	children := map[string]string{} // MIME types by URI
	for file := range files {
		path, inside := strings.CutPrefix(file, strings.TrimSuffix(uri, "/")+"/")
		name, _, isFolder := strings.Cut(path, "/")
		child := strings.TrimSuffix(uri, "/") + "/" + name
		switch {
		case !inside:
		case isFolder:
			children[child] = "inode/directory"
		default:
			children[child] = "text/markdown"
		}
	}
	if len(children) == 0 {
		return Error(codeInvalidParams, "Not a directory")
	}
	resources := []map[string]string{}
	for _, child := range slices.Sorted(maps.Keys(children)) {
		resources = append(resources, map[string]string{"uri": child, "name": child[strings.LastIndexByte(child, '/')+1:], "mimeType": children[child]})
	}
	return encoded(map[string]any{"resources": resources})
}

func encoded(v any) Result {
	raw, err := json.Marshal(v)
	if err != nil {
		return Error(codeServer, err.Error())
	}
	return JSON(string(raw))
}
