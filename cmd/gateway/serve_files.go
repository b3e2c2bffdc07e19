package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"mcpgateway/models"
	"mcpgateway/services"
	"mcpgateway/services/declaration"
	"mcpgateway/services/projects"
	"mcpgateway/services/runner/entry"
	"mcpgateway/services/runner/files"
)

// servedFiles are the operator's files that serve applies and watches.
type servedFiles struct {
	paths  []string
	format files.Format
	set    *files.Set // as read last
	// takeCommands: changed commands apply at once, without a reload.
	takeCommands bool
}

// readServed returns the files of --config or --local, or nil if there are none. A file
// with commands must not be writable by other users: the error of a refused one
// ends serve with the exit code 2.
func readServed(config string, local localFiles, in io.Reader) (*servedFiles, error) {
	switch {
	case config != "" && len(local) > 0:
		return nil, usagef("use either --config or --local")
	case len(local) > 0:
		set, err := readFiles(local, files.Local)
		return &servedFiles{paths: local, format: files.Local, set: set}, err
	case config == "":
		return nil, nil
	}
	set, err := readFiles([]string{config}, files.Config)
	var refused errConfig
	if config == "-" || errors.As(err, &refused) {
		set, err = readPlain(config, in, err)
	}
	return &servedFiles{paths: []string{config}, format: files.Config, set: set}, err
}

// readPlain returns a declarative file that can't have commands: standard input, or
// a file that is refused for them. Such a file with commands is the error refused.
func readPlain(path string, in io.Reader, refused error) (*files.Set, error) {
	raw, err := readDeclaration(path, in)
	if err != nil {
		return nil, err
	}
	if served, err := declaration.ParseServed(raw, entry.Keys()); err == nil && path != "-" && hasPrograms(served) {
		return nil, refused
	}
	d, err := declaration.Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &files.Set{Format: files.Config, Declaration: d, Notes: d.Notes}, nil
}

func hasPrograms(d *declaration.File) bool {
	for _, project := range d.Projects {
		for _, server := range project.Servers {
			if server.Program {
				return true
			}
		}
	}
	return false
}

// readDeclaration returns the content of a declarative file, or of standard input
// for "-".
func readDeclaration(path string, in io.Reader) ([]byte, error) {
	if path == "-" {
		return io.ReadAll(io.LimitReader(in, declaration.MaxSize+1))
	}
	return os.ReadFile(path)
}

// apply stores what the files declare.
func (f *servedFiles) apply(ctx context.Context, s *services.Services, log *slog.Logger) error {
	source := models.SourceConfig
	if f.format == files.Local {
		source = models.SourceLocal
	}
	plan, err := s.Projects.Apply(operator(ctx), f.set.Declaration, projects.ApplyOptions{Source: source})
	if err != nil {
		return fmt.Errorf("%s: %w", f.paths[0], err)
	}
	for _, change := range plan.Changes {
		if change.Action != projects.ActionKeep {
			log.Info("configuration applied", "action", change.Action, "project", change.Project, "server", change.Server, "toolset", change.Toolset, "group", change.Group, "fields", change.Fields)
		}
	}
	for _, warning := range plan.Warnings {
		log.Warn(warning)
	}
	for _, note := range f.set.Notes {
		log.Warn("configuration partly ignored", "note", note)
	}
	for _, problem := range f.set.Problems {
		log.Warn("server left out", "file", problem.File, "server", problem.Name, "reason", problem.Reason)
	}
	for _, program := range f.set.Programs {
		if program.Problem != "" {
			log.Warn("program can't run", "server", program.Name, "reason", program.Problem)
		}
	}
	if f.format == files.Local {
		return declareRemote(ctx, s, f.set)
	}
	return nil
}

// serve starts the watch of the files.
func (f *servedFiles) serve(ctx context.Context, s *services.Services, std streams, log *slog.Logger) {
	if f.format == files.Local {
		if err := introduceLocal(ctx, s, std); err != nil {
			log.Warn("key of the local project not created", "error", err)
		}
	}
	if f.watched() {
		s.Background.Go("watch of the files", func() {
			tick := time.NewTicker(files.WatchEvery)
			defer tick.Stop()
			f.watch(ctx, s, tick.C, log)
		})
	}
}

// watched reports whether a change of the files is applied while serving: a
// declarative file without commands is only applied at the start.
func (f *servedFiles) watched() bool { return f.format == files.Local || f.set.HasPrograms() }

// watch applies the files again whenever they change, until ctx ends. A file with a
// mistake changes nothing. New and changed commands wait at the runner.
func (f *servedFiles) watch(ctx context.Context, s *services.Services, ticks <-chan time.Time, log *slog.Logger) {
	files.Watch(ctx, f.paths, f.set.Files, ticks, func() {
		set, err := readFiles(f.paths, f.format)
		if err == nil {
			changed := servedFiles{paths: f.paths, format: f.format, set: set}
			err = changed.apply(ctx, s, log)
		}
		if err != nil {
			log.Warn("changed file not applied", "error", explain(err))
			return
		}
		f.set = set
		log.Info("changed file applied", "file", f.paths[0])
	})
}

// introduceLocal prints how to use the project of --local until it has its first
// key. On a terminal it makes that key.
func introduceLocal(ctx context.Context, s *services.Services, std streams) error {
	project, err := s.Projects.Project(ctx, files.LocalProject)
	if err != nil || project.AuthMode != models.AuthAPIKey {
		return err
	}
	keys, err := s.Keys.List(ctx, project.ID)
	if err != nil || len(keys) > 0 {
		return err
	}
	endpoint := s.Config.PublicURL.String() + "/v1/mcp/" + project.Slug
	fmt.Fprintf(std.out, "The servers of the file are at %s\n", endpoint)
	if !isTerminal(std.out) {
		fmt.Fprintf(std.out, "Create a key for them: gateway keys create --project %s --name NAME\n", project.Slug)
		return nil
	}
	_, key, err := s.Keys.Create(operator(ctx), project.ID, "first start", 0)
	if err != nil {
		return err
	}
	fmt.Fprintf(std.out, "Key, shown only now: %s\nTry it:\n\n", key.Reveal())
	fmt.Fprintf(std.out, "  curl -s %s/request -H 'Authorization: Bearer %s' -H 'Content-Type: application/json' -d '%s'\n\n", endpoint, key.Reveal(), `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	return nil
}

// declareRemote stores which servers with a URL the files declare now. The tools
// of others that came from files are hidden.
func declareRemote(ctx context.Context, s *services.Services, set *files.Set) error {
	project, err := s.Projects.Project(ctx, files.LocalProject)
	if err != nil {
		return err
	}
	rows, err := s.Projects.Servers(ctx, project.ID)
	if err != nil {
		return err
	}
	declared := map[string]bool{}
	for _, remote := range set.Remote {
		declared[declaration.FoldAlias(remote.Name)] = true
	}
	hashes := map[string]string{}
	for _, row := range rows {
		if row.Source == models.SourceLocal && !row.IsProgram() && declared[row.AliasFold] {
			hashes[row.ID] = ""
		}
	}
	return s.Rows.Declare(ctx, hashes)
}
