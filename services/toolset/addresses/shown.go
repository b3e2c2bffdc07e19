package addresses

import (
	"strings"

	"mcpgateway/models"
)

// maxTextBytes is the maximum size of a claimed text in bytes. Longer ones are
// always shown qualified.
const maxTextBytes = 2_000

// Text is something that a server shows and can claim.
type Text struct {
	Kind models.ClaimKind
	Text string
}

// ShownBy returns the texts that a server with these stored rows shows, without
// duplicates: listed URIs and templates, the URIs of its tools' user interfaces,
// and the roots of its skills.
func ShownBy(tools []models.Tool, listings []models.Listing) []Text {
	var c collector
	for _, l := range listings {
		c.listing(l)
	}
	for _, t := range tools {
		c.tool([]byte(t.Definition))
	}
	return c.texts
}

// ShownIn is ShownBy for the lists that a sync has read.
func ShownIn(tools [][]byte, offers map[models.ListingKind][]models.Listing) []Text {
	var c collector
	for _, kind := range []models.ListingKind{models.ListingResource, models.ListingTemplate, models.ListingSkill} {
		for _, l := range offers[kind] {
			c.listing(l)
		}
	}
	for _, definition := range tools {
		c.tool(definition)
	}
	return c.texts
}

type collector struct {
	texts []Text
	seen  map[Text]bool
}

func (c *collector) add(t Text) {
	if t.Text == "" || len(t.Text) > maxTextBytes || strings.ContainsRune(t.Text, 0) || c.seen[t] {
		return
	}
	if c.seen == nil {
		c.seen = map[Text]bool{}
	}
	c.seen[t] = true
	c.texts = append(c.texts, t)
}

func (c *collector) listing(l models.Listing) {
	switch l.Kind {
	case models.ListingResource:
		c.add(Text{models.ClaimURI, l.Ident})
	case models.ListingTemplate:
		c.add(Text{models.ClaimTemplate, l.Ident})
	case models.ListingSkill:
		c.add(Text{models.ClaimPrefix, SkillRoot(l.Ident)})
	}
}

func (c *collector) tool(definition []byte) {
	for _, uri := range UIs(definition) {
		c.add(Text{models.ClaimURI, uri})
	}
}

// SkillRoot returns the prefix of the URIs of a skill's files, given the URI of
// its SKILL.md (SEP-2640).
func SkillRoot(uri string) string {
	root := uri[:strings.LastIndexByte(uri, '/')+1]
	if root == "" || strings.HasSuffix(root, begin) {
		return uri
	}
	return root
}
