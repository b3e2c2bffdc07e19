package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"mcpgateway/services"
	"mcpgateway/services/declaration"
	"mcpgateway/services/projects"
)

func apply(ctx context.Context, std streams, args []string) error {
	fs := flags(std, "apply")
	file := fs.String("f", "", "declarative file; - for standard input")
	dryRun := fs.Bool("dry-run", false, "print the plan and change nothing")
	prune := fs.Bool("prune", false, "delete projects, servers, toolsets and groups that are not in the file")
	if err := parse(fs, args); err != nil {
		return err
	}
	if *file == "" {
		return usagef("-f is required")
	}
	s, err := open(ctx, std)
	if err != nil {
		return err
	}
	defer s.Close()
	plan, err := applyFile(ctx, s, std.in, *file, projects.ApplyOptions{DryRun: *dryRun, Prune: *prune})
	if err != nil {
		return err
	}
	printPlan(std.out, plan, *dryRun)
	return nil
}

// applyFile applies the declarative file at path, or standard input for "-".
func applyFile(ctx context.Context, s *services.Services, in io.Reader, path string, o projects.ApplyOptions) (projects.Plan, error) {
	raw, err := readDeclaration(path, in)
	if err != nil {
		return projects.Plan{}, err
	}
	d, err := declaration.Parse(raw)
	if err != nil {
		return projects.Plan{}, fmt.Errorf("%s: %w", path, err)
	}
	plan, err := s.Projects.Apply(operator(ctx), d, o)
	if err != nil {
		return plan, fmt.Errorf("%s: %w", path, err)
	}
	return plan, nil
}

func printPlan(w io.Writer, plan projects.Plan, dryRun bool) {
	signs := map[projects.Action]string{projects.ActionCreate: "+", projects.ActionUpdate: "~", projects.ActionDelete: "-", projects.ActionKeep: "="}
	counts := map[projects.Action]int{}
	for _, c := range plan.Changes {
		counts[c.Action]++
		line := signs[c.Action] + " project " + c.Project
		if c.Server != "" {
			line = signs[c.Action] + " server  " + c.Project + "/" + c.Server
		}
		if c.Group != "" {
			line = signs[c.Action] + " group   " + c.Group
		}
		if c.Toolset != "" {
			line = signs[c.Action] + " toolset " + c.Project + "/" + c.Toolset
		}
		if c.Recipe != "" {
			line = signs[c.Action] + " recipe  " + c.Project + "/" + c.Recipe
		}
		if len(c.Fields) > 0 {
			line += ": " + strings.Join(c.Fields, ", ")
		}
		fmt.Fprintln(w, line)
	}
	for _, warning := range plan.Warnings {
		fmt.Fprintln(w, "! "+warning)
	}
	for _, note := range plan.Notes {
		fmt.Fprintln(w, "! "+note)
	}
	done := "applied"
	if dryRun {
		done = "nothing was changed (dry run)"
	}
	fmt.Fprintf(w, "%d to create, %d to update, %d to delete, %d unchanged: %s\n",
		counts[projects.ActionCreate], counts[projects.ActionUpdate], counts[projects.ActionDelete], counts[projects.ActionKeep], done)
}
