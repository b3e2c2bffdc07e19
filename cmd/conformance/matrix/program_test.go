//go:build conformance

package matrix

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"testing"

	"mcpgateway/cmd/internal/stage"
	"mcpgateway/services/upstream/upstreamtest"
)

// relayArgument is the first argument of the program that relays its standard input
// and output to the address in the second one.
const relayArgument = "relay"

// program returns an upstream as a local program: this binary, which relays to the
// upstream in this process, so that the test can watch it.
func program(t *testing.T, upstream *upstreamtest.Server) stage.Server {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_ = upstream.ServeStdio(context.Background(), conn, conn) // ends with the program
			}()
		}
	}()
	t.Cleanup(func() {
		listener.Close()
		<-ended
		upstream.Close()
	})
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return stage.Server{Command: self, Arguments: []string{relayArgument, listener.Addr().String()}}
}

// relay copies standard input to a connection and its data to standard output. It
// ends with either.
func relay(address string) {
	conn, err := new(net.Dialer).DialContext(context.Background(), "tcp", address)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	ended := make(chan error, 2)
	go func() {
		_, err := io.Copy(conn, os.Stdin)
		ended <- err
	}()
	go func() {
		_, err := io.Copy(os.Stdout, conn)
		ended <- err
	}()
	if err := <-ended; err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}
