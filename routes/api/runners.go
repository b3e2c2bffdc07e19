package api

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/services/runners"
	"mcpgateway/services/runners/wire"
	"mcpgateway/services/toolset"
)

// Operations act on the programs of servers.
type Operations interface {
	Restart(ctx context.Context, serverID string) error
	Stop(ctx context.Context, serverID string) error
	Log(ctx context.Context, serverID string) (wire.Log, error)
}

// RunnerSource returns the connected runners.
type RunnerSource interface {
	All() []runners.Runner
}

// Runners serves the programs that runners start.
type Runners struct {
	operations Operations
	source     RunnerSource
	directory  *toolset.Directory
}

// NewRunners returns the handlers.
func NewRunners(operations Operations, source RunnerSource, directory *toolset.Directory) *Runners {
	return &Runners{operations: operations, source: source, directory: directory}
}

// processRecord is the state of a program as its runner reports it.
type processRecord struct {
	Name      string     `json:"name"`
	State     wire.State `json:"state"`
	Since     *time.Time `json:"since"`
	Message   string     `json:"message"`
	Restarts  int64      `json:"restarts"`
	RetryAt   *time.Time `json:"retryAt"`
	Held      bool       `json:"held"`
	Program   string     `json:"program"`
	Processes int        `json:"processes"`
	Memory    int64      `json:"memory"`
	LastExit  string     `json:"lastExit"`
}

func processOf(s wire.Server) *processRecord {
	r := &processRecord{
		Name: s.Name, State: s.State, Since: moment(s.Since), Message: s.Message, Restarts: s.Restarts, Held: s.Held,
		Program: s.Program, Processes: s.Processes, Memory: s.Memory, LastExit: s.LastExit,
	}
	if s.RetryAt != nil {
		r.RetryAt = moment(*s.RetryAt)
	}
	return r
}

// runnerRecord is a runner that is connected to this replica.
type runnerRecord struct {
	ID          string              `json:"id"`
	Source      models.ServerSource `json:"source"`
	ProjectSlug *string             `json:"projectSlug"` // of a connector
	ConnectorID *string             `json:"connectorId"`
	Since       *time.Time          `json:"since"`
	Files       []wire.File         `json:"files"`
	Servers     []runnerServer      `json:"servers"`
}

type runnerServer struct {
	ID     string         `json:"id"`
	Runner *processRecord `json:"runner"`
}

// List serves GET /api/runners.
func (r *Runners) List(c *fiber.Ctx) error { return RespondList(c, r.source.All(), r.recordOf) }

func (r *Runners) recordOf(one runners.Runner) runnerRecord {
	record := runnerRecord{ID: one.ID, Source: one.Source, Since: moment(one.Since), Files: append([]wire.File{}, one.Files...), Servers: []runnerServer{}}
	if one.ConnectorID != "" {
		record.ConnectorID = &one.ConnectorID
	}
	if p := r.directory.ProjectByID(one.ProjectID); p != nil {
		record.ProjectSlug = &p.Project.Slug
	}
	for id, server := range one.Servers {
		record.Servers = append(record.Servers, runnerServer{ID: id, Runner: processOf(server)})
	}
	slices.SortFunc(record.Servers, func(a, b runnerServer) int { return cmp.Compare(a.Runner.Name, b.Runner.Name) })
	return record
}

// Restart serves POST /api/servers/:id/restart.
func (r *Runners) Restart(c *fiber.Ctx) error {
	if err := r.operations.Restart(c.UserContext(), c.Params("id")); err != nil {
		return err
	}
	return c.SendStatus(fiber.StatusNoContent)
}

// Stop serves POST /api/servers/:id/stop.
func (r *Runners) Stop(c *fiber.Ctx) error {
	if err := r.operations.Stop(c.UserContext(), c.Params("id")); err != nil {
		return err
	}
	return c.SendStatus(fiber.StatusNoContent)
}

// Log serves GET /api/servers/:id/log.
func (r *Runners) Log(c *fiber.Ctx) error {
	log, err := r.operations.Log(c.UserContext(), c.Params("id"))
	if err != nil {
		return err
	}
	c.Set(fiber.HeaderCacheControl, "no-store")
	log.Lines = append([]wire.Line{}, log.Lines...)
	return c.JSON(log)
}
