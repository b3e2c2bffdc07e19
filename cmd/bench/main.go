// Command bench compares the gateway with a bare proxy and measures how it
// scales. It starts every program that it needs as a separate process on
// 127.0.0.1, so that CPU time and memory are measured per program.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

const usage = `usage: bench COMMAND [flags]

  calls    measure tools/call directly, through a bare proxy and through the gateway
  scale    measure startup, and memory and latency with many servers, sessions, tools and catalog rows
  many     measure thousands of projects, servers, keys, people and connections on PostgreSQL
  report   run calls and scale, and write the tables into a file between two marker lines

  upstream   serve MCP servers; started by the other commands
  floor      serve the bare proxy; started by the other commands
`

// errUsage is returned for an invalid command line, after the problem was
// printed.
var errUsage = errors.New("invalid usage")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
	case errors.Is(err, errUsage):
		os.Exit(2)
	default:
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	commands := map[string]func(context.Context, []string, io.Writer, io.Writer) error{
		"calls": measureCalls, "scale": measureScale, "many": measureMany, "report": writeReport, "upstream": serveUpstream, "floor": serveFloor,
	}
	if len(args) == 0 || commands[args[0]] == nil {
		fmt.Fprint(stderr, usage)
		return errUsage
	}
	return commands[args[0]](ctx, args[1:], stdout, stderr)
}

// parse parses the flags of a command. It rejects other arguments.
func parse(fs *flag.FlagSet, stderr io.Writer, args []string) error {
	fs.SetOutput(stderr)
	switch err := fs.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return err
	case err != nil:
		return errUsage
	case fs.NArg() > 0:
		fmt.Fprintf(stderr, "%s: unexpected argument %q\n", fs.Name(), fs.Arg(0))
		return errUsage
	}
	return nil
}
