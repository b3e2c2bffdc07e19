// Command conformance runs the official MCP conformance suites against the
// gateway and its upstream client, and a matrix of every client revision
// against every upstream revision.
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

const usage = `usage: conformance COMMAND [flags]

  run      run the official suites through a gateway and print one table
  matrix   run every client revision against every upstream revision
  shim     rename tools and prompts between a suite and a gateway
  client   visit the server at URL, as a suite's --command (client URL)
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
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	commands := map[string]func(context.Context, []string, io.Writer, io.Writer) error{
		"run": runSuites, "matrix": runMatrix, "shim": serveShim, "client": runClient,
	}
	if len(args) == 0 || commands[args[0]] == nil {
		fmt.Fprint(stderr, usage)
		return errUsage
	}
	return commands[args[0]](ctx, args[1:], stdout, stderr)
}

// parse reads the flags of a command and the number of arguments that it
// takes.
func parse(fs *flag.FlagSet, stderr io.Writer, args []string, arguments int) error {
	fs.SetOutput(stderr)
	switch err := fs.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return err
	case err != nil:
		return errUsage
	case fs.NArg() != arguments:
		fmt.Fprintf(stderr, "%s takes %d arguments besides its flags, not %d\n", fs.Name(), arguments, fs.NArg())
		return errUsage
	}
	return nil
}
