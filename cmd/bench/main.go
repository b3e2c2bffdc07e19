// Command bench measures the gateway beside a bare proxy and as it grows. It
// starts everything that it needs itself, each in a process of its own on
// 127.0.0.1, so that processor time and memory are told apart.
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

  calls    tools/call at the upstream itself, through a bare proxy and through the gateway
  scale    start-up, and memory and latency with many servers, sessions, tools and catalog rows
  report   both, written into a file between two marker lines

  upstream, floor   what the others start: MCP servers, and the bare proxy
`

// errUsage is returned for a wrong command line, which has been explained.
var errUsage = errors.New("wrong usage")

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
		"calls": measureCalls, "scale": measureScale, "report": writeReport, "upstream": serveUpstream, "floor": serveFloor,
	}
	if len(args) == 0 || commands[args[0]] == nil {
		fmt.Fprint(stderr, usage)
		return errUsage
	}
	return commands[args[0]](ctx, args[1:], stdout, stderr)
}

// parse reads the flags of a command, which takes nothing else.
func parse(fs *flag.FlagSet, stderr io.Writer, args []string) error {
	fs.SetOutput(stderr)
	switch err := fs.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return err
	case err != nil:
		return errUsage
	case fs.NArg() > 0:
		fmt.Fprintf(stderr, "%s takes flags only, not %q\n", fs.Name(), fs.Arg(0))
		return errUsage
	}
	return nil
}
