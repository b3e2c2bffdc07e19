package servers

import (
	"context"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/routes/frame"
	"mcpgateway/services/fault"
	"mcpgateway/services/runners/wire"
	"mcpgateway/services/toolset"
	views "mcpgateway/views/admin/servers"
	"mcpgateway/views/paths"
)

// Operations restarts and stops programs and reads their output. Implemented by
// operations.Operations.
type Operations interface {
	Log(ctx context.Context, serverID string) (wire.Log, error)
	Restart(ctx context.Context, serverID string) error
	Stop(ctx context.Context, serverID string) error
}

// outputTime is the maximum time that a page waits for the output of a program.
const outputTime = 2 * time.Second

// placeOf returns where a program runs, or "" for a server with a URL.
func placeOf(s *models.Server) string {
	switch {
	case !s.IsProgram():
		return ""
	case s.Source == models.SourceConnector:
		return "On another computer"
	}
	return "Local server"
}

// processOf returns the processes of a program, or nil for a server with a URL.
func (a *Servers) processOf(ctx context.Context, server *toolset.Server, row views.Row) *views.Process {
	config := server.Config
	if !config.IsProgram() {
		return nil
	}
	r := a.programs.Record(config)
	p := &views.Process{
		Connected: r.Connected, Tone: row.State.Tone, State: row.State.Word, Program: r.Program, Processes: r.Processes,
		Memory: r.Memory, Restarts: r.Restarts, LastExit: r.LastExit,
	}
	if r.State == wire.StateRunning {
		p.Since = r.Since
	}
	if !r.Connected {
		p.NoLog = "The runner is not connected."
		return p
	}
	ctx, cancel := context.WithTimeout(ctx, outputTime)
	defer cancel()
	log, err := a.operations.Log(ctx, config.ID)
	if err != nil {
		p.NoLog = fault.From(err).Message
		return p
	}
	for _, line := range log.Lines {
		p.Lines = append(p.Lines, views.LogLine{At: line.At, Text: line.Text})
	}
	return p
}

// Restart serves POST …/servers/:id/restart.
func (a *Servers) Restart(c *fiber.Ctx) error {
	return a.control(c, "is restarting.", a.operations.Restart)
}

// Stop serves POST …/servers/:id/stop.
func (a *Servers) Stop(c *fiber.Ctx) error {
	return a.control(c, "stopped. The next call starts it again.", a.operations.Stop)
}

func (a *Servers) control(c *fiber.Ctx, done string, do func(ctx context.Context, serverID string) error) error {
	p, server, err := a.pages.Server(c)
	if err != nil {
		return err
	}
	to := paths.Server(p.Project.Slug, server.Config.ID)
	if err := do(c.UserContext(), server.Config.ID); err != nil {
		return frame.Failed(c, to, err)
	}
	return frame.Done(c, to, server.Config.Alias+" "+done)
}
