//go:build linux || darwin

package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"

	"mcpgateway/services/runner/entry"
	"mcpgateway/services/runner/files"
	"mcpgateway/services/runner/process"
	"mcpgateway/services/runner/trusted"
)

// runnerCheck prints the programs of local files and their mistakes, and starts
// nothing. It fails if there is a mistake.
func runnerCheck(_ context.Context, std streams, args []string) error {
	fs := flags(std, "runner check")
	var local localFiles
	if err := parseLocal(fs, &local, args); err != nil {
		return err
	}
	if len(local) == 0 {
		return usagef("--local FILE is required")
	}
	set, err := readFiles(local, files.Local)
	if err != nil {
		return err
	}
	if mistakes := printCheck(std.out, set, entry.NewEnvironment(std.environ)); mistakes > 0 {
		return fmt.Errorf("mistakes in the files: %d", mistakes)
	}
	return nil
}

// printCheck prints what the files declare and returns the number of mistakes. It
// prints no argument and no value of a variable, because both can be secrets.
func printCheck(out io.Writer, set *files.Set, from entry.Environment) (mistakes int) {
	for _, f := range set.Files {
		fmt.Fprintf(out, "%s (SHA-256 %s)\n", f.Path, f.SHA256)
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, e := range set.Programs {
		found, problem := findProgram(e, from)
		if problem != "" {
			mistakes++
			fmt.Fprintf(w, "mistake\t%s\t%s\n", e.Name, oneLine(problem))
			continue
		}
		fmt.Fprintf(w, "found\t%s\t%s\n", e.Name, oneLine(found))
	}
	for _, r := range set.Remote {
		fmt.Fprintf(w, "URL\t%s\tnothing to start\n", r.Name)
	}
	for _, p := range set.Problems {
		mistakes++
		fmt.Fprintf(w, "mistake\t%s\t%s\n", oneLine(p.Name), oneLine(p.Reason))
	}
	_ = w.Flush()
	for _, note := range set.Notes {
		fmt.Fprintln(out, "note:", oneLine(note))
	}
	return mistakes
}

// findProgram returns the path of an entry's program, or why it can't run.
func findProgram(e *entry.Entry, from entry.Environment) (path, problem string) {
	if e.Problem != "" {
		return "", e.Problem
	}
	p, err := e.Resolve(from, trusted.Content)
	if err != nil {
		return "", err.Error()
	}
	if path, err = process.Find(p.Program, p.Env); err != nil {
		return "", err.Error()
	}
	return path, ""
}
