package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"mcpgateway/services/runner/entry"
	"mcpgateway/services/runner/files"
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
	p, err := e.Resolve(from, func(path string) ([]byte, error) {
		f, err := trusted.Read(path)
		if err != nil {
			return nil, err
		}
		return f.Content, nil
	})
	if err != nil {
		return "", err.Error()
	}
	if path, err = lookPath(p, from["PATH"]); err != nil {
		return "", err.Error()
	}
	return path, ""
}

// lookPath returns the absolute path of a program in the runner's PATH.
func lookPath(p *entry.Program, searched string) (string, error) {
	if strings.ContainsRune(p.Program, filepath.Separator) {
		path := p.Program
		if !filepath.IsAbs(path) {
			return "", fmt.Errorf("%s is a relative path: write an absolute one, or one that starts with ~/", path)
		}
		return found(path)
	}
	for _, dir := range filepath.SplitList(searched) {
		if !filepath.IsAbs(dir) {
			continue
		}
		if path, err := found(filepath.Join(dir, p.Program)); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s is not on the runner's PATH", p.Program)
}

// found returns the path if it is a program.
func found(path string) (string, error) {
	if _, err := exec.LookPath(path); err != nil {
		var e *exec.Error
		if errors.As(err, &e) {
			err = e.Err
		}
		return "", fmt.Errorf("%s: %w", path, err)
	}
	return path, nil
}
