// Command mockmcp serves a configurable MCP server for demos, end-to-end tests and
// load tests. The first line of its output is the URL of its endpoint. It stops on
// SIGINT and SIGTERM. With -stdio it serves standard input and output instead, and
// can misbehave like a program.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"mcpgateway/cmd/gateway/demo"
	"mcpgateway/services/upstream/upstreamtest"
	"mcpgateway/services/upstream/upstreamtest/programtest"
)

func main() {
	if programtest.IsChild(os.Args[1:]) {
		exit(programtest.RunChild(os.Args[1:]))
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	exit(err)
}

// exit prints the error, if any, and exits with status 1.
func exit(err error) {
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "mockmcp:", err)
		os.Exit(1)
	}
}

// settings are the parsed flags.
type settings struct {
	addr    string
	options upstreamtest.Options
	faults  []upstreamtest.Fault
	stats   bool
	control bool
	stdio   bool
	program programtest.Program
}

// run serves until ctx is done. It returns an error for invalid flags and if it
// can't listen.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	set, err := parse(args, stderr)
	if err != nil {
		return err
	}
	server := upstreamtest.New(set.options)
	defer server.Close()
	server.SetFault(set.faults...)
	if set.stdio {
		return set.program.Serve(ctx, server, os.Stdin, os.Stdout, stderr)
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", set.addr)
	if err != nil {
		return err
	}
	handler := http.Handler(server)
	if set.control {
		handler = server.Control()
	}
	url, err := server.Serve(ctx, listener, handler)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(stdout, url); err != nil {
		return err
	}
	<-ctx.Done()
	server.Close()
	if set.stats {
		return json.NewEncoder(stderr).Encode(server.Stats())
	}
	return nil
}

func parse(args []string, stderr io.Writer) (settings, error) {
	var set settings
	fs := flag.NewFlagSet("mockmcp", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.StringVar(&set.addr, "addr", "127.0.0.1:0", "listen address; port 0 selects a free port")
	fs.StringVar(&set.options.Path, "path", "/mcp", "path of the endpoint")
	fs.StringVar(&set.options.Name, "name", "", "serverInfo.name (default: depends on the kind)")
	kind := fs.String("kind", "standard", "tools: standard, hostile, clock, text or program (standard ones, and those about the process and the client)")
	tools := fs.Int("tools", 10, "number of tools of kind standard: echo, sleep, big, fail, progress, add, then generated tools")
	eras := fs.String("era", "all", "protocol revisions, separated by commas, such as 2025-11-25,2026-07-28; or all, stateless, sse")
	answer := fs.String("answer", "auto", "response format: auto (SSE if there are notifications), json or sse")
	fs.IntVar(&set.options.PageSize, "page", 0, "tools per page of tools/list; 0 means no limit")
	latency := fs.Duration("latency", 0, "delay before each response")
	hang := fs.String("hang", "", "never respond to: accept, any, initialize, list, call or stream")
	fs.StringVar(&set.options.Token, "token", "", "required bearer token")
	fs.BoolVar(&set.options.Sessionless, "sessionless", false, "create no sessions in the revisions of 2025")
	fs.BoolVar(&set.options.Resumable, "resumable", false, "send event IDs, so that streams can be resumed")
	fs.BoolVar(&set.stats, "stats", false, "print the counters to standard error on exit")
	fs.BoolVar(&set.control, "control", false, "serve GET /stats and POST /control, which changes the behavior (tools, page, answer, latency, hang, status, every, drop)")
	fs.BoolVar(&set.stdio, "stdio", false, "serve standard input and output instead of HTTP; only then code, crash, flood, fork, garbage, hold, probe, start, survive and unread apply")
	set.program.Flags(fs)
	if err := fs.Parse(args); err != nil {
		return set, err
	}
	if fs.NArg() > 0 {
		return set, fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	if *tools < 0 || set.options.PageSize < 0 || *latency < 0 {
		return set, errors.New("-tools, -page and -latency must not be negative")
	}
	if !strings.HasPrefix(set.options.Path, "/") {
		return set, errors.New("-path must start with /")
	}
	var err error
	if set.options.Eras, err = upstreamtest.ParseEras(*eras); err != nil {
		return set, fmt.Errorf("-era: %w", err)
	}
	if set.options.Answer, err = upstreamtest.ParseAnswer(*answer); err != nil {
		return set, fmt.Errorf("-answer: %w", err)
	}
	if *latency > 0 {
		set.faults = append(set.faults, upstreamtest.Fault{Kind: upstreamtest.Delay, Latency: *latency})
	}
	if *hang != "" {
		f, err := upstreamtest.ParseHang(*hang)
		if err != nil {
			return set, fmt.Errorf("-hang: %w", err)
		}
		set.faults = append(set.faults, f)
	}
	set.options.Record = -1
	return set, equip(&set.options, *kind, *tools)
}

// equip sets the name, instructions and tools of the kind.
func equip(o *upstreamtest.Options, kind string, tools int) error {
	var like upstreamtest.Options
	switch kind {
	case "standard":
		like = upstreamtest.Options{Name: "mockmcp", Tools: upstreamtest.Standard(tools)}
	case "hostile":
		like = upstreamtest.Options{Name: "hostile", Tools: upstreamtest.Hostile()}
	case "clock":
		like = demo.Clock(time.Now)
	case "text":
		like = demo.TextTools()
	case "program":
		like = programtest.Options(tools)
	default:
		return fmt.Errorf("-kind: unknown kind %q, use standard, hostile, clock, text or program", kind)
	}
	if o.Name == "" {
		o.Name = like.Name
	}
	o.Instructions, o.Tools, o.Capabilities, o.Methods = like.Instructions, like.Tools, like.Capabilities, like.Methods
	return nil
}
