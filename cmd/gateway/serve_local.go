package main

import (
	"context"
	"fmt"

	"mcpgateway/models"
	"mcpgateway/services"
	"mcpgateway/services/declaration"
	"mcpgateway/services/runner/files"
)

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
