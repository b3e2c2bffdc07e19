package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net"

	"mcpgateway/cmd/bench/bed"
)

// serveUpstream serves MCP servers until ctx ends.
func serveUpstream(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	fs := flag.NewFlagSet("bench upstream", flag.ContinueOnError)
	servers := fs.Int("servers", 1, "number of servers, at the paths /0/mcp, /1/mcp and so on")
	tools := fs.Int("tools", 10, "number of tools of each")
	if err := parse(fs, stderr, args); err != nil {
		return err
	}
	if *servers < 1 || *tools < 1 {
		fmt.Fprintln(stderr, "bench upstream: -servers and -tools must be 1 at least")
		return errUsage
	}
	listener, err := listen(ctx)
	if err != nil {
		return err
	}
	return bed.ServeUpstreams(ctx, listener, *servers, *tools, announce(stdout))
}

// serveFloor serves the bare proxy until ctx ends.
func serveFloor(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	fs := flag.NewFlagSet("bench floor", flag.ContinueOnError)
	to := fs.String("to", "", "`HOST:PORT` of the upstream server")
	if err := parse(fs, stderr, args); err != nil {
		return err
	}
	if _, _, err := net.SplitHostPort(*to); err != nil {
		fmt.Fprintln(stderr, "bench floor: -to:", err)
		return errUsage
	}
	listener, err := listen(ctx)
	if err != nil {
		return err
	}
	return bed.ServeFloor(ctx, listener, *to, announce(stdout))
}

func listen(ctx context.Context) (net.Listener, error) {
	return new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
}

// announce returns what says on the first line of stdout where a child
// listens.
func announce(stdout io.Writer) func(url string) {
	return func(url string) { fmt.Fprintln(stdout, "READY", url) }
}
