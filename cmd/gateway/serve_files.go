package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"

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
	// takeCommands: changed commands apply at once, without a reload.
	takeCommands bool
	state        string // directory of the runner; empty for the default

	mu  sync.Mutex // one read of the files at a time
	set *files.Set // as read last
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
	set, err := readConfig(config, in)
	return &servedFiles{paths: []string{config}, format: files.Config, set: set}, err
}

// readConfig returns a declarative file, or standard input for "-".
func readConfig(path string, in io.Reader) (*files.Set, error) {
	set, err := readFiles([]string{path}, files.Config)
	var refused errConfig
	if path == "-" || errors.As(err, &refused) {
		return readPlain(path, in, err)
	}
	return set, err
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
			log.Info("configuration applied", "action", change.Action, "project", change.Project, "server", change.Server, "toolset", change.Toolset, "recipe", change.Recipe, "group", change.Group, "fields", change.Fields)
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

// introduceLocal prints how to use the project of --local until it has its first
// key. On a terminal it makes that key. programs reports whether the files have
// commands.
func introduceLocal(ctx context.Context, s *services.Services, std streams, programs bool) error {
	project, err := s.Projects.Project(ctx, files.LocalProject)
	if err != nil || project.AuthMode != models.AuthAPIKey {
		return err
	}
	keys, err := s.Keys.List(ctx, project.ID)
	if err != nil || len(keys) > 0 {
		return err
	}
	endpoint := s.Config.PublicURL.String() + "/v1/mcp/" + project.Slug + "/request"
	fmt.Fprintf(std.out, "The servers of the file are at %s\n", endpoint)
	if programs {
		fmt.Fprintln(std.out, "Tools of programs appear when these have started. The first start of npx, uvx and docker downloads them, which can take minutes.")
	}
	if !isTerminal(std.out) {
		fmt.Fprintf(std.out, "Create a key for them: gateway keys create --project %s --name NAME\n", project.Slug)
		return nil
	}
	_, key, err := s.Keys.Create(operator(ctx), project.ID, "first start", 0)
	if err != nil {
		return err
	}
	fmt.Fprintf(std.out, "Key, shown only now: %s\nTry it:\n\n", key.Reveal())
	fmt.Fprintf(std.out, "  curl -s %s -H 'Authorization: Bearer %s' -H 'Content-Type: application/json' -d '%s'\n\n", endpoint, key.Reveal(), `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
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
