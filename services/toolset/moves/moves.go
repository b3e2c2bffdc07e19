// Package moves records the toolsets whose members a sync changed.
package moves

import (
	"context"
	"log/slog"

	"mcpgateway/services/activity"
	"mcpgateway/services/projects/toolsets"
	"mcpgateway/services/toolset"
	"mcpgateway/services/toolset/views"
)

// Projects returns the current snapshots of projects. Implemented by
// toolset.Directory.
type Projects interface {
	// ProjectByID returns nil for an unknown project.
	ProjectByID(id string) *toolset.Snapshot
}

// Recorder stores moves. Implemented by toolsets.Store.
type Recorder interface {
	RecordMoves(ctx context.Context, projectSlug string, moves []toolsets.Move) error
}

// Watch compares the members of toolsets before and after syncs.
type Watch struct {
	projects Projects
	store    Recorder
	log      *slog.Logger
}

// New returns a watch of the projects that records moves in store.
func New(projects Projects, store Recorder, log *slog.Logger) *Watch {
	return &Watch{projects: projects, store: store, log: log}
}

// Sync must be called before a sync stores the tools of a server. The returned
// function must be called once the change is in the snapshots of this process,
// with the upstream names of the tools that changed, came or went.
func (w *Watch) Sync(projectID, alias string) func(ctx context.Context, names []string) {
	before := w.projects.ProjectByID(projectID)
	return func(ctx context.Context, names []string) {
		after := w.projects.ProjectByID(projectID)
		if before == nil || after == nil || len(names) == 0 || len(after.Toolsets) == 0 {
			return
		}
		if moved := movesOf(before, after, alias, names); len(moved) > 0 {
			// The change is the server's, so no user is its actor.
			ctx = activity.WithActor(ctx, activity.Actor{Kind: activity.ActorSystem})
			if err := w.store.RecordMoves(ctx, after.Project.Slug, moved); err != nil {
				w.log.Warn("toolset change not recorded", "project", after.Project.Slug, "server", alias, "error", err)
			}
		}
	}
}

// movesOf returns the toolsets, by slug, that tools of a server joined or left.
// It applies the present toolsets to both snapshots, so that changes of toolsets
// are not moves.
func movesOf(before, after *toolset.Snapshot, alias string, names []string) (moved []toolsets.Move) {
	was, is := toolsOf(before, alias), toolsOf(after, alias)
	for _, row := range after.ToolsetsBySlug() {
		member := views.Member(row)
		m := toolsets.Move{Toolset: row, Server: alias}
		for _, name := range names {
			old, now := was[name], is[name]
			joined, left := now != nil && member(now), old != nil && member(old)
			switch {
			case joined && !left:
				m.In = append(m.In, now.FullName)
			case left && !joined:
				m.Out = append(m.Out, old.FullName)
			}
		}
		if len(m.In)+len(m.Out) > 0 {
			moved = append(moved, m)
		}
	}
	return moved
}

// toolsOf returns the tools of a server, hidden ones included, by upstream name.
func toolsOf(project *toolset.Snapshot, alias string) map[string]*toolset.Tool {
	tools := map[string]*toolset.Tool{}
	for _, t := range project.AllTools() {
		if t.Server.Config.Alias == alias {
			tools[t.Upstream] = t
		}
	}
	return tools
}
