package api

import (
	"context"
	"net/url"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/services/access"
	"mcpgateway/services/access/keys"
	"mcpgateway/services/access/personal"
	"mcpgateway/services/fault"
	"mcpgateway/services/oauthserver"
	"mcpgateway/web"
	"mcpgateway/web/guard"
)

// Me serves what belongs to the signed-in user. It requires a guard that admits
// sessions only.
type Me struct {
	own    *personal.Own
	people *access.Users
	apps   *oauthserver.Server
	public *url.URL
}

// NewMe returns the handlers. public is the origin of the endpoints.
func NewMe(own *personal.Own, people *access.Users, apps *oauthserver.Server, public *url.URL) *Me {
	return &Me{own: own, people: people, apps: apps, public: public}
}

// Show serves GET /api/me.
func (m *Me) Show(c *fiber.Ctx) error {
	person, err := m.people.Get(c.UserContext(), guard.UserOf(c).ID)
	if err != nil {
		return err
	}
	return c.JSON(personOf(person))
}

type ownProjectRecord struct {
	ProjectSlug string   `json:"projectSlug"`
	Name        string   `json:"name"`
	Endpoints   []string `json:"endpoints"` // URLs of the project and then of Toolsets
	Toolsets    []string `json:"toolsets"`  // slugs of those that the user may use
}

func (m *Me) projectOf(p personal.Project) ownProjectRecord {
	slug := p.Project.Slug
	record := ownProjectRecord{
		ProjectSlug: slug, Name: p.Project.Name, Toolsets: []string{},
		Endpoints: []string{m.public.JoinPath("v1", "mcp", slug, "request").String()},
	}
	for _, t := range p.Toolsets() {
		record.Endpoints = append(record.Endpoints, m.public.JoinPath("v1", "mcp", slug, "toolsets", t.Slug, "request").String())
		record.Toolsets = append(record.Toolsets, t.Slug)
	}
	return record
}

// Projects serves GET /api/me/projects.
func (m *Me) Projects(c *fiber.Ctx) error {
	return RespondList(c, m.own.Projects(guard.UserOf(c).ID), m.projectOf)
}

// Keys serves GET /api/me/keys.
func (m *Me) Keys(c *fiber.Ctx) error {
	rows, err := m.own.Keys(c.UserContext(), guard.UserOf(c).ID)
	if err != nil {
		return err
	}
	details, err := m.own.Details(c.UserContext(), rows...)
	if err != nil {
		return err
	}
	return RespondList(c, rows, func(row models.Key) keyRecord { return keyOf(row, details[row.ID]) })
}

// CreateKey serves POST /api/me/projects/:projectSlug/keys.
func (m *Me) CreateKey(c *fiber.Ctx) error {
	var body newKey
	if err := web.BindJSON(c, &body); err != nil {
		return err
	}
	lifetime, err := body.lifetime()
	if err != nil {
		return err
	}
	row, text, err := m.own.CreateKey(c.UserContext(), guard.UserOf(c).ID, c.Params("projectSlug"), keys.Attributes{Name: body.Name, Lifetime: lifetime, Toolsets: body.Toolsets})
	if err != nil {
		return apiFields(err)
	}
	return m.respondNew(c, row, text.Reveal())
}

// apiFields renames the field of the lifetime to that of the API.
func apiFields(err error) error {
	f := fault.From(err)
	if why, ok := f.Fields["expires"]; ok {
		return fault.Validation(map[string]string{"expiresAt": why})
	}
	return err
}

// RotateKey serves POST /api/me/keys/:id/rotate.
func (m *Me) RotateKey(c *fiber.Ctx) error {
	grace, err := graceOf(c)
	if err != nil {
		return err
	}
	row, text, err := m.own.RotateKey(c.UserContext(), guard.UserOf(c).ID, c.Params("id"), grace)
	if err != nil {
		return err
	}
	return m.respondNew(c, row, text.Reveal())
}

func (m *Me) respondNew(c *fiber.Ctx, row models.Key, text string) error {
	details, err := m.own.Details(c.UserContext(), row)
	if err != nil {
		return err
	}
	return respondNewKey(c, row, details[row.ID], text)
}

// RevokeKey serves DELETE /api/me/keys/:id.
func (m *Me) RevokeKey(c *fiber.Ctx) error { return m.remove(c, m.own.RevokeKey) }

type appRecord struct {
	ID          string    `json:"id"`
	Name        string    `json:"name"` // unverified; may be empty
	Host        string    `json:"host"` // of the client's metadata document; may be empty
	ProjectSlug string    `json:"projectSlug"`
	Scopes      []string  `json:"scopes"`
	CreatedAt   time.Time `json:"createdAt"`
	LastUsedAt  time.Time `json:"lastUsedAt"`
	ExpiresAt   time.Time `json:"expiresAt"`
}

// Apps serves GET /api/me/apps: the clients that the user signed in.
func (m *Me) Apps(c *fiber.Ctx) error {
	rows, err := m.apps.Grants(c.UserContext(), guard.UserOf(c).ID)
	if err != nil {
		return err
	}
	return RespondList(c, rows, func(g oauthserver.Grant) appRecord {
		return appRecord{
			ID: g.ID, Name: g.ClientName, Host: g.ClientHost, ProjectSlug: g.ProjectSlug, Scopes: nonNil(g.Scopes),
			CreatedAt: g.CreatedAt, LastUsedAt: g.LastUsedAt, ExpiresAt: g.ExpiresAt,
		}
	})
}

// RemoveApp serves DELETE /api/me/apps/:id.
func (m *Me) RemoveApp(c *fiber.Ctx) error { return m.remove(c, m.apps.RevokeGrant) }

type sessionRecord struct {
	ID         string    `json:"id"`
	Current    bool      `json:"current"` // the session of this request
	UserAgent  string    `json:"userAgent"`
	IP         string    `json:"ip"`
	CreatedAt  time.Time `json:"createdAt"`
	LastSeenAt time.Time `json:"lastSeenAt"`
	ExpiresAt  time.Time `json:"expiresAt"`
}

// Sessions serves GET /api/me/sessions: the browsers that the user signed in.
func (m *Me) Sessions(c *fiber.Ctx) error {
	user := guard.UserOf(c)
	rows, err := m.people.Sessions(c.UserContext(), user.ID)
	if err != nil {
		return err
	}
	return RespondList(c, rows, func(s access.SessionInfo) sessionRecord {
		return sessionRecord{
			ID: s.ID, Current: s.ID == user.SessionID, UserAgent: s.UserAgent, IP: s.IP, CreatedAt: s.CreatedAt, LastSeenAt: s.LastSeenAt, ExpiresAt: s.ExpiresAt,
		}
	})
}

// EndSession serves DELETE /api/me/sessions/:id.
func (m *Me) EndSession(c *fiber.Ctx) error { return m.remove(c, m.people.EndSession) }

// remove removes something of the user.
func (m *Me) remove(c *fiber.Ctx, remove func(ctx context.Context, userID, id string) error) error {
	if err := remove(c.UserContext(), guard.UserOf(c).ID, c.Params("id")); err != nil {
		return err
	}
	return c.SendStatus(fiber.StatusNoContent)
}
