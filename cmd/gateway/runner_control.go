//go:build linux || darwin

package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"mcpgateway/services/runner/control"
	"mcpgateway/services/runners/wire"
)

// withRunner parses the flags, --state and the names, and calls do with the
// client of the runner.
func withRunner(std streams, verb string, names int, define func(*flag.FlagSet), args []string, do func(c *control.Client, names []string) error) error {
	fs := flags(std, "runner "+verb)
	given := fs.String("state", "", "directory of the runner")
	if define != nil {
		define(fs)
	}
	var named []string
	for {
		rest, err := parseSome(fs, args)
		if err != nil {
			return err
		}
		if len(rest) == 0 {
			break
		}
		named, args = append(named, rest[0]), rest[1:]
	}
	switch {
	case len(named) < names:
		return usagef("name a server")
	case len(named) > names:
		return usagef("unexpected argument %q", named[names])
	}
	dir, err := runnerState(std, *given)
	if err != nil {
		return err
	}
	c := control.NewClient(dir)
	defer c.Close()
	return do(c, named)
}

// runnerStatus prints the programs with their states.
func runnerStatus(ctx context.Context, std streams, args []string) error {
	var asJSON bool
	define := func(fs *flag.FlagSet) { fs.BoolVar(&asJSON, "json", false, "print the records as a JSON array") }
	return withRunner(std, "status", 0, define, args, func(c *control.Client, _ []string) error {
		if asJSON {
			l, err := c.List(ctx)
			if err != nil {
				return err
			}
			out := json.NewEncoder(std.out)
			out.SetIndent("", "  ")
			return out.Encode(l.Servers)
		}
		s, err := c.Status(ctx)
		if err != nil {
			return err
		}
		printStatus(std.out, s)
		return nil
	})
}

// printStatus prints one line per program, the files and the notes.
func printStatus(out io.Writer, s control.Status) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tSTATE\tPROCESSES\tMEMORY\tRESTARTS\tCOMMAND\tMESSAGE")
	for i := range s.Servers {
		p := &s.Servers[i]
		state := string(p.State)
		if p.Held && p.State != wire.StateHeld {
			state += ", changed in the file"
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%d MiB\t%d\t%s\t%s\n", visible(p.Name), state, p.Processes, p.Memory>>20, p.Restarts, visible(shellWords(s.Commands[p.Name])), visible(p.Message))
	}
	_ = w.Flush()
	for _, f := range s.Files {
		fmt.Fprintf(out, "file %s (SHA-256 %s)\n", visible(f.Path), f.SHA256)
	}
	for _, note := range s.Notes {
		fmt.Fprintln(out, visible(note))
	}
}

// shellWords returns a command for display. Arguments with spaces are quoted.
func shellWords(command []string) string {
	words := make([]string, len(command))
	for i, word := range command {
		words[i] = word
		if word == "" || strings.ContainsAny(word, " \t\n\"'") {
			words[i] = fmt.Sprintf("%q", word)
		}
	}
	return strings.Join(words, " ")
}

// visible returns a text in one line, with control characters escaped: it can
// come from a program.
func visible(s string) string {
	quoted := fmt.Sprintf("%+q", s)
	if clean := quoted[1 : len(quoted)-1]; clean != s && strings.ContainsFunc(s, unicode.IsControl) {
		return clean
	}
	return s
}

// runnerLogs prints the latest output of a program.
func runnerLogs(ctx context.Context, std streams, args []string) error {
	return withRunner(std, "logs", 1, nil, args, func(c *control.Client, names []string) error {
		l, err := c.Log(ctx, names[0])
		if err != nil {
			return err
		}
		for _, line := range l.Lines {
			fmt.Fprintln(std.out, line.At.UTC().Format(time.RFC3339), visible(line.Text))
		}
		return nil
	})
}

// runnerRestart ends the processes of a program and starts it again.
func runnerRestart(ctx context.Context, std streams, args []string) error {
	return withRunner(std, "restart", 1, nil, args, func(c *control.Client, names []string) error { return c.Restart(ctx, names[0]) })
}

// runnerStop ends the processes of a program. The next call starts it again.
func runnerStop(ctx context.Context, std streams, args []string) error {
	return withRunner(std, "stop", 1, nil, args, func(c *control.Client, names []string) error { return c.Stop(ctx, names[0]) })
}

// runnerReload applies the files and prints what changed.
func runnerReload(ctx context.Context, std streams, args []string) error {
	return withRunner(std, "reload", 0, nil, args, func(c *control.Client, _ []string) error {
		r, err := c.Reload(ctx)
		if err != nil {
			return err
		}
		for _, change := range []struct {
			what  string
			names []string
		}{{"added", r.Added}, {"replaced", r.Replaced}, {"settings changed", r.Settings}, {"removed", r.Removed}} {
			if len(change.names) > 0 {
				fmt.Fprintf(std.out, "%s: %s\n", change.what, visible(strings.Join(change.names, ", ")))
			}
		}
		return nil
	})
}
