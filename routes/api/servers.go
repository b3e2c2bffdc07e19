package api

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/services/declaration"
	"mcpgateway/services/fault"
	"mcpgateway/services/inventory"
	"mcpgateway/services/projects"
	"mcpgateway/services/runners"
	"mcpgateway/services/upstream"
	"mcpgateway/web"
)

// HealthSource returns the health of a server.
type HealthSource interface {
	Health(serverID string) inventory.Health
}

// Servers serves the records of upstream servers.
type Servers struct {
	store   *projects.Store
	health  HealthSource
	learned RevisionSource
	runners ProgramSource
}

// ProgramSource returns the records of programs.
type ProgramSource interface {
	Record(row models.Server) runners.Record
}

// RevisionSource returns the protocol revision that was learned for a server; the
// zero value means none.
type RevisionSource interface {
	Find(serverID string) models.LearnedRevision
}

// NewServers returns the handlers over the store.
func NewServers(store *projects.Store, health HealthSource, learned RevisionSource, runners ProgramSource) *Servers {
	return &Servers{store: store, health: health, learned: learned, runners: runners}
}

// serverRecord reports whether there are secrets but never contains them.
type serverRecord struct {
	ID               string                  `json:"id"`
	ProjectSlug      string                  `json:"projectSlug"`
	Alias            string                  `json:"alias"`
	URL              string                  `json:"url"`
	Transport        models.Transport        `json:"transport"`
	AuthType         models.AuthType         `json:"authType"`
	HasAuthBearer    bool                    `json:"hasAuthBearer"`
	HeaderNames      []string                `json:"headerNames"`
	AllowedTools     []string                `json:"allowedTools"`
	DenyTools        []string                `json:"denyTools"`
	Tools            models.ToolOverrides    `json:"tools"`
	Enabled          bool                    `json:"enabled"`
	Timeout          int64                   `json:"timeout"`
	MaxConcurrent    int64                   `json:"maxConcurrent"`
	SessionMode      models.SessionMode      `json:"sessionMode"`
	DefinitionPolicy models.DefinitionPolicy `json:"definitionPolicy"`
	ProtocolVersion  string                  `json:"protocolVersion"`
	TaskTimeout      int64                   `json:"taskTimeout"`
	ResultLimit      *int64                  `json:"resultLimit"`
	OAuth            oauthRecord             `json:"oauth"`
	TLS              *tlsRecord              `json:"tls,omitempty"`
	ForwardHeaders   models.StringMap        `json:"forwardHeaders,omitempty"`
	Connection       models.ConnectionMode   `json:"connection"`
	PersonalHeaders  []string                `json:"personalHeaders"`
	LastSync         *syncRecord             `json:"lastSync"`
	Revision         *revisionRecord         `json:"revision"`
	Health           healthRecord            `json:"health"`
	Runner           *processRecord          `json:"runner,omitempty"` // of a program that a runner starts
	CreatedAt        time.Time               `json:"createdAt"`
	UpdatedAt        time.Time               `json:"updatedAt"`
	Warnings         []fault.Warning         `json:"warnings,omitzero"` // in the response to a change
}

type oauthRecord struct {
	ClientID        string   `json:"clientId"`
	HasClientSecret bool     `json:"hasClientSecret"`
	Scopes          []string `json:"scopes"`

	Grant         models.OAuthGrantType `json:"grant,omitempty"`
	AuthMethod    models.ClientAuth     `json:"authMethod,omitempty"`
	HasPrivateKey bool                  `json:"hasPrivateKey,omitempty"`
	KeyID         string                `json:"keyId,omitempty"`
	TokenURL      string                `json:"tokenUrl,omitempty"`
	Audience      string                `json:"audience,omitempty"`
}

// tlsRecord has the certificates as they were entered.
type tlsRecord struct {
	CA     string `json:"ca"`
	Cert   string `json:"cert"`
	HasKey bool   `json:"hasKey"`
}

// syncRecord describes the last attempt. syncedAt is the last success.
type syncRecord struct {
	AttemptedAt     time.Time        `json:"attemptedAt"`
	SyncedAt        *time.Time       `json:"syncedAt"`
	OK              bool             `json:"ok"`
	Code            string           `json:"code,omitempty"`
	Message         string           `json:"message,omitempty"`
	Warnings        []string         `json:"warnings"`
	ProtocolVersion string           `json:"protocolVersion,omitempty"`
	Transport       models.Transport `json:"transport,omitempty"`
}

// revisionRecord is the protocol revision that calls use: the one of the last sync,
// or the one that a failed call showed to be right for clients that the server can
// send requests to. Reason is empty and since null for the former.
type revisionRecord struct {
	Used   string     `json:"used"`
	Reason string     `json:"reason"`
	Since  *time.Time `json:"since"`
}

// revisionOf returns the revision of a server, or nil before its first sync.
func revisionOf(stored *models.Inventory, learned models.LearnedRevision) *revisionRecord {
	switch {
	case learned.Revision != "":
		return &revisionRecord{Used: learned.Revision, Reason: learned.Reason, Since: moment(learned.Since)}
	case stored != nil && stored.ProtocolVersion != "":
		return &revisionRecord{Used: stored.ProtocolVersion}
	default:
		return nil
	}
}

// healthRecord is the health of the server as seen by this replica's last
// requests, including calls.
type healthRecord struct {
	State               upstream.State `json:"state"`
	Since               *time.Time     `json:"since"`
	Code                fault.Code     `json:"code,omitempty"`
	Reason              string         `json:"reason,omitempty"`
	ConsecutiveFailures int            `json:"consecutiveFailures"`
	LastSuccessAt       *time.Time     `json:"lastSuccessAt"`
	LastFailureAt       *time.Time     `json:"lastFailureAt"`
	NextProbeAt         *time.Time     `json:"nextProbeAt"` // null if the next call is a probe
	ActiveCalls         int            `json:"activeCalls"`
	WaitingCalls        int            `json:"waitingCalls"`
}

func healthOf(h inventory.Health) healthRecord {
	state, since, reason := h.State()
	r := healthRecord{
		State: state, Since: moment(since), Reason: reason, ConsecutiveFailures: h.ConsecutiveFailures, LastSuccessAt: moment(h.LastSuccess),
		LastFailureAt: moment(h.LastFailure), NextProbeAt: moment(h.Breaker.NextProbe), ActiveCalls: h.Active, WaitingCalls: h.Waiting,
	}
	if reason != "" {
		r.Code = h.LastCode
	}
	return r
}

// moment returns a time in the format of records, or nil for the zero time.
func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC().Truncate(time.Millisecond)
	return &t
}

func (s *Servers) recordOf(slug string, row models.Server, stored *models.Inventory) serverRecord {
	health := s.health.Health(row.ID)
	r := serverRecord{
		Revision: revisionOf(stored, s.learned.Find(row.ID)),
		ID:       row.ID, ProjectSlug: slug, Alias: row.Alias, URL: row.URL, Transport: row.ShownTransport(), AuthType: row.AuthType,
		HasAuthBearer: row.AuthBearer != "", HeaderNames: slices.Sorted(maps.Keys(row.Headers)),
		AllowedTools: nonNil(row.AllowedTools), DenyTools: nonNil(row.DenyTools), Enabled: row.Enabled, Timeout: row.TimeoutMS, MaxConcurrent: row.MaxConcurrent,
		SessionMode: row.SessionMode, DefinitionPolicy: row.DefinitionPolicy, ProtocolVersion: row.ProtocolVersion, TaskTimeout: row.TaskTimeoutMS, ResultLimit: row.ResultLimit, CreatedAt: row.CreatedAt, UpdatedAt: row.UpdatedAt, Health: healthOf(health),
		Tools: row.ToolOverrides, OAuth: oauthOf(row),
		Connection: models.ConnectionShared, PersonalHeaders: nonNil(row.PersonalHeaders),
	}
	if row.IsProgram() {
		r.Runner = processOf(s.runners.Record(row).Server)
	}
	if row.IsPersonal() {
		r.Connection = models.ConnectionPersonal
	}
	if len(row.ForwardHeaders) > 0 {
		r.ForwardHeaders = row.ForwardHeaders
	}
	if row.TLSAuthority+row.TLSCert+row.TLSKey != "" {
		r.TLS = &tlsRecord{CA: row.TLSAuthority, Cert: row.TLSCert, HasKey: row.TLSKey != ""}
	}
	if r.Tools == nil {
		r.Tools = models.ToolOverrides{}
	}
	if r.HeaderNames == nil {
		r.HeaderNames = []string{}
	}
	if stored != nil {
		r.LastSync = &syncRecord{
			AttemptedAt: stored.AttemptedAt, SyncedAt: stored.SyncedAt, OK: stored.ErrorCode == "",
			Code: stored.ErrorCode, Message: stored.ErrorMessage, Warnings: nonNil(stored.Warnings),
			ProtocolVersion: stored.ProtocolVersion, Transport: stored.TransportUsed,
		}
	}
	return r
}

func oauthOf(row models.Server) oauthRecord {
	return oauthRecord{
		ClientID: row.OAuthClientID, HasClientSecret: row.OAuthClientSecret != "", Scopes: nonNil(row.OAuthScopes),
		Grant: row.OAuthGrant, AuthMethod: row.OAuthClientAuth, HasPrivateKey: row.OAuthPrivateKey != "",
		KeyID: row.OAuthKeyID, TokenURL: row.OAuthTokenURL, Audience: row.OAuthAudience,
	}
}

// List serves GET /api/projects/:projectSlug/servers.
func (s *Servers) List(c *fiber.Ctx) error {
	project, err := s.store.Project(c.UserContext(), c.Params("projectSlug"))
	if err != nil {
		return err
	}
	rows, err := s.store.Servers(c.UserContext(), project.ID)
	if err != nil {
		return err
	}
	inventories, err := s.store.Inventories(c.UserContext(), project.ID)
	if err != nil {
		return err
	}
	return RespondList(c, rows, func(row models.Server) serverRecord {
		return s.recordOf(project.Slug, row, inventories[row.ID])
	})
}

// Get serves GET /api/servers/:id.
func (s *Servers) Get(c *fiber.Ctx) error {
	row, err := s.store.Server(c.UserContext(), c.Params("id"))
	if err != nil {
		return err
	}
	record, err := s.record(c.UserContext(), row)
	if err != nil {
		return err
	}
	return c.JSON(record)
}

// Create serves POST /api/projects/:projectSlug/servers with the record of a
// server or a client's configuration. New servers are synced in the background.
func (s *Servers) Create(c *fiber.Ctx) error {
	body, err := web.JSONBody(c)
	if err != nil {
		return err
	}
	pasted, single, err := declaration.ParseNewServers(body)
	if err != nil {
		return err
	}
	if !single {
		return s.createPasted(c, pasted)
	}
	one := pasted.Servers[0]
	saved, err := s.store.AddServer(c.UserContext(), c.Params("projectSlug"), one.Alias, one.Declaration)
	if err != nil {
		return err
	}
	saved.Warnings = append(saved.Warnings, notTaken(one.Notes)...)
	c.Location("/api/servers/" + saved.Server.ID)
	return s.respond(c.Status(fiber.StatusCreated), saved)
}

// Update serves PATCH /api/servers/:id. Absent keys are unchanged; "" clears a
// secret.
func (s *Servers) Update(c *fiber.Ctx) error {
	body, err := web.JSONBody(c)
	if err != nil {
		return err
	}
	alias, declaration, err := declaration.ParseServer(body)
	if err != nil {
		return err
	}
	saved, err := s.store.UpdateServer(c.UserContext(), c.Params("id"), alias, declaration)
	if err != nil {
		return err
	}
	return s.respond(c, saved)
}

// Delete serves DELETE /api/servers/:id.
func (s *Servers) Delete(c *fiber.Ctx) error {
	if err := s.store.DeleteServer(c.UserContext(), c.Params("id")); err != nil {
		return err
	}
	return c.SendStatus(fiber.StatusNoContent)
}

func (s *Servers) respond(c *fiber.Ctx, saved projects.SavedServer) error {
	record, err := s.savedRecord(c.UserContext(), saved)
	if err != nil {
		return err
	}
	return c.JSON(record)
}

func (s *Servers) savedRecord(ctx context.Context, saved projects.SavedServer) (serverRecord, error) {
	record, err := s.record(ctx, saved.Server)
	record.Warnings = append([]fault.Warning{}, saved.Warnings...)
	return record, err
}

// record returns the record of a server with its last sync and its health.
func (s *Servers) record(ctx context.Context, row models.Server) (serverRecord, error) {
	project, err := s.store.ProjectByID(ctx, row.ProjectID)
	if err != nil {
		return serverRecord{}, err
	}
	inventories, err := s.store.Inventories(ctx, row.ProjectID)
	if err != nil {
		return serverRecord{}, err
	}
	return s.recordOf(project.Slug, row, inventories[row.ID]), nil
}
