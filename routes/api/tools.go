package api

import (
	"encoding/json"
	"net/url"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/fault"
	"mcpgateway/services/projects/toolstate"
	"mcpgateway/services/toolset"
	"mcpgateway/web"
)

// Directory returns the snapshot of a project.
type Directory interface {
	Project(slug string) (*toolset.Snapshot, error)
}

// Tools serves the tools of a project, including hidden ones.
type Tools struct {
	directory Directory
	store     *toolstate.Store
}

// NewTools returns the handlers.
func NewTools(directory Directory, store *toolstate.Store) *Tools {
	return &Tools{directory: directory, store: store}
}

type toolRecord struct {
	Name       string          `json:"name"`
	Server     string          `json:"server"`
	Upstream   string          `json:"upstreamName"`
	Enabled    bool            `json:"enabled"`
	Reason     string          `json:"reason,omitempty"` // reason if not enabled
	Hash       string          `json:"definitionHash"`
	Definition json.RawMessage `json:"definition"`

	// Access is the effect that toolsets go by. ClaimedAccess is that of the
	// definition until a user confirms it.
	Access        toolset.Access `json:"access"`
	ClaimedAccess toolset.Access `json:"claimedAccess,omitempty"`
}

func toolOf(t *toolset.Tool) toolRecord {
	r := toolRecord{
		Name: t.FullName, Server: t.Server.Config.Alias, Upstream: t.Upstream,
		Enabled: t.Hidden == toolset.Visible, Reason: string(t.Hidden), Hash: t.Hash, Definition: t.Definition, Access: t.ToolsetAccess,
	}
	if t.AccessPending {
		r.ClaimedAccess = t.Hints.Access()
	}
	return r
}

// List serves GET /api/projects/:projectSlug/tools.
func (t *Tools) List(c *fiber.Ctx) error {
	project, err := t.directory.Project(c.Params("projectSlug"))
	if err != nil {
		return err
	}
	return RespondList(c, project.AllTools(), toolOf)
}

// Set serves PATCH /api/projects/:projectSlug/tools/:name with {"enabled":bool},
// {"approved":bool}, or the definitionHash whose claimed access it confirms in
// {"accessConfirmed":true,"definitionHash":"…"}.
func (t *Tools) Set(c *fiber.Ctx) error {
	var body struct {
		Enabled   *bool  `json:"enabled"`
		Approved  *bool  `json:"approved"`
		Confirmed *bool  `json:"accessConfirmed"`
		Hash      string `json:"definitionHash"`
	}
	if err := web.BindJSON(c, &body); err != nil {
		return err
	}
	name, err := url.PathUnescape(c.Params("name"))
	if err != nil || body.Enabled == nil && body.Approved == nil && body.Confirmed == nil {
		return fault.Validation(map[string]string{"enabled": `send {"enabled":true} or false, {"approved":true}, or {"accessConfirmed":true,"definitionHash":"…"}`})
	}
	if problems := confirmProblems(body.Confirmed, body.Hash); problems != nil {
		return fault.Validation(problems)
	}
	slug := c.Params("projectSlug")
	if body.Enabled != nil || body.Approved != nil {
		if err := t.store.SetTool(c.UserContext(), slug, name, body.Enabled, body.Approved); err != nil {
			return err
		}
	}
	if body.Confirmed != nil {
		if err := t.store.ConfirmAccess(c.UserContext(), slug, toolstate.Definition{Name: name, Hash: body.Hash}); err != nil {
			return err
		}
	}
	return t.respond(c, slug, name)
}

// confirmProblems returns the problems of a confirmation by field, or nil.
func confirmProblems(confirmed *bool, hash string) map[string]string {
	switch {
	case confirmed != nil && !*confirmed:
		return map[string]string{"accessConfirmed": "use true: a confirmation can't be withdrawn"}
	case confirmed != nil && hash == "":
		return map[string]string{"definitionHash": "send the definitionHash of the tool's record"}
	case confirmed == nil && hash != "":
		return map[string]string{"definitionHash": "send it together with accessConfirmed"}
	}
	return nil
}

// respond responds with the record of a tool.
func (t *Tools) respond(c *fiber.Ctx, slug, name string) error {
	project, err := t.directory.Project(slug)
	if err != nil {
		return err
	}
	for _, tool := range project.AllTools() {
		if tool.FullName == name {
			return c.JSON(toolOf(tool))
		}
	}
	return fault.NotFound("tool", name)
}
