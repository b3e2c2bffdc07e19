package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"strings"

	"mcpgateway/cmd/bench/measure"
)

// serveUpstream serves MCP servers until ctx is done.
func serveUpstream(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	fs := flag.NewFlagSet("bench upstream", flag.ContinueOnError)
	var u measure.Upstreams
	fs.IntVar(&u.Servers, "servers", 1, "number of servers, served at /0/mcp, /1/mcp and so on")
	fs.IntVar(&u.Tools, "tools", 10, "tools per server")
	fs.BoolVar(&u.Events, "events", false, "respond with event streams")
	fs.IntVar(&u.Padding, "padding", 0, "`bytes` that the echo tool appends to its text")
	fs.DurationVar(&u.Latency, "latency", 0, "delay before each response")
	address := fs.String("addr", "127.0.0.1:0", "listen `address`")
	certificate, key := fs.String("cert", "", "certificate `file`, for https"), fs.String("key", "", "`file` with the key of the certificate")
	protocols := fs.String("protocols", "http/1.1", "ALPN `protocols` of https, separated by commas")
	if err := parse(fs, stderr, args); err != nil {
		return err
	}
	if u.Servers < 1 || u.Tools < 1 || u.Padding < 0 || u.Latency < 0 {
		fmt.Fprintln(stderr, "bench upstream: -servers and -tools must be at least 1, -padding and -latency must not be negative")
		return errUsage
	}
	if *certificate != "" {
		pair, err := tls.LoadX509KeyPair(*certificate, *key)
		if err != nil {
			return err
		}
		u.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, NextProtos: strings.Split(*protocols, ","), MinVersion: tls.VersionTLS12}
	}
	listener, err := listen(ctx, *address)
	if err != nil {
		return err
	}
	return u.Serve(ctx, listener, announce(stdout))
}

// serveFloor serves the bare proxy until ctx is done.
func serveFloor(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	fs := flag.NewFlagSet("bench floor", flag.ContinueOnError)
	to := fs.String("to", "", "`HOST:PORT` of the upstream server")
	authority := fs.String("ca", "", "`file` with the certificate of an https upstream server")
	if err := parse(fs, stderr, args); err != nil {
		return err
	}
	if _, _, err := net.SplitHostPort(*to); err != nil {
		fmt.Fprintln(stderr, "bench floor: -to:", err)
		return errUsage
	}
	listener, err := listen(ctx, "127.0.0.1:0")
	if err != nil {
		return err
	}
	var roots *x509.CertPool
	if *authority != "" {
		certificate, err := os.ReadFile(*authority)
		if err != nil {
			return err
		}
		roots = x509.NewCertPool()
		roots.AppendCertsFromPEM(certificate)
	}
	return measure.ServeFloor(ctx, listener, *to, roots, announce(stdout))
}

func listen(ctx context.Context, address string) (net.Listener, error) {
	return new(net.ListenConfig).Listen(ctx, "tcp", address)
}

// announce returns a function that prints the address of a child as the first
// line of stdout.
func announce(stdout io.Writer) func(url string) {
	return func(url string) { fmt.Fprintln(stdout, "READY", url) }
}
