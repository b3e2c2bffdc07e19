package frame

import (
	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/views/toolchoice"
	"mcpgateway/web"
)

// ToolChoice returns the posted choice between everything and some of the
// toolsets. slugs is nil for everything. The error is VALIDATION_FAILED for a
// choice that is not complete or contradicts itself.
func ToolChoice(c *fiber.Ctx, toolsets []*models.Toolset) (p toolchoice.Props, slugs []string, err error) {
	p.Limited = web.FormValue(c, toolchoice.Scope) == toolchoice.Some
	for _, row := range toolsets {
		p.Toolsets = append(p.Toolsets, toolchoice.Toolset{Slug: row.Slug, Name: row.Name})
		if web.FormValue(c, toolchoice.BoxPrefix+row.Slug) != "" {
			p.Chosen = append(p.Chosen, row.Slug)
		}
	}
	switch {
	case p.Limited && len(p.Chosen) == 0:
		p.Error = "Choose at least one toolset."
	case !p.Limited && len(p.Chosen) > 0:
		p.Error = "Choose either everything or toolsets."
	case p.Limited:
		return p, p.Chosen, nil
	default:
		return p, nil, nil
	}
	return p, nil, fault.Validation(map[string]string{toolchoice.Scope: p.Error})
}

// ToolChoiceOf returns the choice of a form with the toolsets. chosen is nil for
// everything.
func ToolChoiceOf(toolsets []*models.Toolset, chosen []string) toolchoice.Props {
	p := toolchoice.Props{Limited: chosen != nil, Chosen: chosen}
	for _, row := range toolsets {
		p.Toolsets = append(p.Toolsets, toolchoice.Toolset{Slug: row.Slug, Name: row.Name})
	}
	return p
}
