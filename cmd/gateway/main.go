// Command gateway is the server and its administration commands.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"mcpgateway/services/background"
	"mcpgateway/services/fault"
	"mcpgateway/services/sandbox"
)

// version is set at build time with -ldflags "-X main.version=…".
var version = "dev"

// Exit codes of every command.
const (
	exitFailed = 1
	exitUsage  = 2
)

// command is a subcommand. run receives the arguments after its name.
type command struct {
	usage string
	run   func(ctx context.Context, std streams, args []string) error
}

// streams are a command's input, output and environment.
type streams struct {
	out, err io.Writer
	in       io.Reader
	environ  []string
}

func commands() map[string]command {
	return map[string]command{
		"serve":       {"serve [--addr HOST:PORT] [--config FILE | --local FILE …] [--watch] [--state DIR] [--demo] [--dev]", serve},
		"apply":       {"apply -f FILE [--dry-run] [--prune]", apply},
		"export":      {"export [-o FILE] [--project SLUG] [--people]", export},
		"keys":        {"keys create|list|rotate|revoke --project SLUG …", keys},
		"connectors":  {"connectors create|list|revoke --project SLUG …", connectorsCommand},
		"catalog":     {"catalog import --file F | --from URL [--dry-run] [--approve-removals N]", catalogCommand},
		"admin":       {"admin create --email E [--password-stdin] | setup-link | reset-factors --email E", admin},
		"audit":       {"audit verify | export [--format jsonl|csv] [--after N]", audit},
		"rekey":       {"rekey", rekey},
		"runner":      {runnerUsage, runnerCommand},
		"backup":      {"backup -o FILE", backup},
		"restore":     {"restore --check FILE", restore},
		"print":       {printUsage, printManifest},
		"migrate":     {"migrate up|status", migrate},
		"healthcheck": {"healthcheck [--url URL]", healthcheck},
		"version":     {"version [--json]", printVersion},
		// Not in the help: processes that the gateway starts.
		"code-worker":   {"code-worker", codeWorker},
		"runner-guard":  {"runner-guard ID DIR", runnerGuard},
		"runner-serve":  {"runner-serve", runnerServe},
		"runner-launch": {"runner-launch LIMITS PROGRAM …", runnerLaunch},
	}
}

// order is the order of the commands in the help.
var order = []string{"serve", "apply", "export", "keys", "connectors", "admin", "catalog", "runner", "audit", "migrate", "rekey", "backup", "restore", "print", "healthcheck", "version"}

func main() {
	signaled, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, end := context.WithCancel(context.Background())
	defer end()
	// A second signal ends the process at once, from the moment that ctx ends.
	var tasks *background.Tasks // without a log
	context.AfterFunc(signaled, tasks.Func("signals", func() {
		stop()
		end()
	}))
	std := streams{out: os.Stdout, err: os.Stderr, in: os.Stdin, environ: os.Environ()}
	code := run(ctx, std, os.Args[1:])
	stop()
	os.Exit(code)
}

// errLogged is the error of commands whose log already has the reason.
var errLogged = errors.New("see the log")

// errUsage is the error of invalid arguments.
type errUsage struct{ message string }

func (e errUsage) Error() string { return e.message }

func usagef(format string, args ...any) error { return errUsage{fmt.Sprintf(format, args...)} }

// subcommandError returns the error of a command whose arguments begin with none of
// its subcommands.
func subcommandError(args []string, subcommands string) error {
	if len(args) == 0 {
		return usagef("missing subcommand: %s", subcommands)
	}
	return usagef("unknown subcommand %q: use %s", args[0], subcommands)
}

// run runs the command line and returns the exit code.
func run(ctx context.Context, std streams, args []string) int {
	if len(args) == 0 || args[0] == "help" || args[0] == "-h" || args[0] == "--help" {
		printHelp(std.out)
		if len(args) == 0 {
			return exitUsage
		}
		return 0
	}
	name := args[0]
	if name == "--version" || name == "-v" {
		name = "version"
	}
	c, known := commands()[name]
	if !known {
		fmt.Fprintf(std.err, "gateway: unknown command %q; see `gateway help`\n", args[0])
		return exitUsage
	}
	err := c.run(ctx, std, args[1:])
	var usage errUsage
	var mistakes errConfig
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return 0
	case errors.Is(err, errLogged):
		return exitFailed
	case errors.As(err, &mistakes):
		for line := range strings.SplitSeq(mistakes.Error(), "\n") {
			fmt.Fprintln(std.err, "gateway: configuration:", line)
		}
		return exitUsage
	case errors.As(err, &usage) && slices.ContainsFunc(args[1:], isHelp): // a command without flags, or with subcommands
		fmt.Fprintf(std.out, "Usage: gateway %s\n", c.usage)
		return 0
	case errors.As(err, &usage):
		fmt.Fprintf(std.err, "gateway: %s; usage: gateway %s\n", oneLine(usage.message), c.usage)
		return exitUsage
	default:
		fmt.Fprintln(std.err, "gateway:", oneLine(explain(err)))
		return exitFailed
	}
}

// isHelp reports whether arg requests the usage of a command.
func isHelp(arg string) bool { return arg == "-h" || arg == "-help" || arg == "--help" }

// explain returns the text of an error for the operator, including causes and
// all invalid fields.
func explain(err error) string {
	var f *fault.Fault
	if !errors.As(err, &f) || f.Code == fault.CodeInternal {
		if f != nil && f.Cause != nil {
			return f.Cause.Error()
		}
		return err.Error()
	}
	text := err.Error() // with the context added by commands
	if len(f.Fields) > 1 {
		text = strings.TrimSuffix(text, ".") + ": " + fieldList(f.Fields)
	}
	return text
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func printHelp(w io.Writer) {
	fmt.Fprintln(w, "Gateway combines the tools of many MCP servers in one endpoint per project.\n\nUsage:")
	all := commands()
	for _, name := range order {
		fmt.Fprintln(w, "  gateway", all[name].usage)
	}
	fmt.Fprintln(w, "\nSettings come from GATEWAY_* environment variables; the documentation lists them: /docs/configuration.")
}

// flags returns a flag set whose errors become usage errors.
func flags(std streams, name string) *flag.FlagSet {
	fs := flag.NewFlagSet("gateway "+name, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Usage = func() {
		fs.SetOutput(std.out)
		fmt.Fprintf(std.out, "Usage: gateway %s\n", commands()[strings.Fields(name)[0]].usage)
		fs.PrintDefaults()
		fs.SetOutput(io.Discard)
	}
	return fs
}

// parse parses the flags and rejects other arguments.
func parse(fs *flag.FlagSet, args []string) error {
	rest, err := parseSome(fs, args)
	if err == nil && len(rest) > 0 {
		return usagef("unexpected argument %q", rest[0])
	}
	return err
}

// parseSome parses the flags up to the first other argument, and returns the rest.
func parseSome(fs *flag.FlagSet, args []string) (rest []string, err error) {
	usage := fs.Usage
	fs.Usage = func() {} // without this, Parse prints it for every error
	defer func() { fs.Usage = usage }()
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			usage()
			return nil, err
		}
		return nil, usagef("%v", err)
	}
	return fs.Args(), nil
}

// codeWorker is the hidden command of the child process that runs submitted
// code. It executes one run from standard input.
func codeWorker(context.Context, streams, []string) error {
	if code := sandbox.WorkerMain(); code != 0 {
		return fmt.Errorf("code worker exited with status %d", code)
	}
	return nil
}
