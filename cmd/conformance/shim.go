package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"mcpgateway/cmd/conformance/shim"
)

// headerFlag collects "Name: value" flags.
type headerFlag http.Header

// String implements flag.Value.
func (headerFlag) String() string { return "" }

// Set implements flag.Value.
func (h headerFlag) Set(s string) error {
	name, value, ok := strings.Cut(s, ":")
	if !ok || strings.TrimSpace(name) == "" {
		return fmt.Errorf("must be %q", "Name: value")
	}
	http.Header(h).Add(strings.TrimSpace(name), strings.TrimSpace(value))
	return nil
}

// serveShim serves the shim until ctx ends. The first line on stdout is READY
// and its URL.
func serveShim(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	options := shim.Options{Header: http.Header{}}
	fs := flag.NewFlagSet("conformance shim", flag.ContinueOnError)
	listen := fs.String("listen", "127.0.0.1:0", "address to serve the suite on; port 0 takes a free one")
	fs.StringVar(&options.Target, "target", "", "MCP endpoint of the gateway")
	fs.StringVar(&options.Alias, "alias", "conf", "alias of the upstream server at the gateway")
	fs.Var(headerFlag(options.Header), "header", "\"Name: value\" to add to each request; may be repeated")
	if err := parse(fs, stderr, args, 0); err != nil {
		return err
	}
	proxy, err := shim.New(options)
	if err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", *listen)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "READY http://%s\n", listener.Addr())
	return shim.Serve(ctx, listener, proxy)
}
