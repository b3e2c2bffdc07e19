//go:build conformance

package suite

import (
	"context"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"mcpgateway/cmd/internal/stage"
)

const (
	// fixturePackage is the Go SDK's conformance server.
	fixturePackage = "github.com/modelcontextprotocol/go-sdk/conformance/everything-server"
	fixtureLimit   = 30 * time.Second
	// maxPortAttempts is the maximum number of starts of a fixture: another program
	// can take its port first.
	maxPortAttempts = 5
)

// startFixture starts the Go SDK's conformance server and returns it with its URL.
// A stateless server has no sessions (revision 2026-07-28).
func startFixture(ctx context.Context, binary, folder string, stateless bool) (*stage.Process, string, error) {
	for attempt := 1; ; attempt++ {
		address, err := stage.FreeAddress(ctx)
		if err != nil {
			return nil, "", err
		}
		p, err := stage.Start(ctx, stage.Program{
			Name: "everything-server -stateless=" + strconv.FormatBool(stateless), Path: binary, Dir: folder, Env: stage.BareEnvironment(folder),
			Args: []string{"-http=" + address, "-stateless=" + strconv.FormatBool(stateless)},
		})
		if err != nil {
			return nil, "", err
		}
		err = stage.Eventually(ctx, fixtureLimit, "wait for the fixture", func(ctx context.Context) error { return accepts(ctx, address) }, p)
		if err == nil {
			return p, "http://" + address, nil
		}
		p.Stop()
		if attempt == maxPortAttempts || ctx.Err() != nil {
			return nil, "", err
		}
	}
}

// startScript starts a server of the folder upstreams and returns it with its URL.
func startScript(ctx context.Context, folder, name string, env ...string) (*stage.Process, string, error) {
	script, err := filepath.Abs(filepath.Join("..", "upstreams", name))
	if err != nil {
		return nil, "", err
	}
	p, err := stage.Start(ctx, stage.Program{
		Name: name, Path: "node", Args: []string{script}, Dir: folder, Env: append(stage.BareEnvironment(folder), env...),
		Ready: func(line string) (string, bool) { return strings.CutPrefix(line, "READY ") },
	})
	if err != nil {
		return nil, "", err
	}
	url, err := p.Await(ctx, fixtureLimit)
	if err != nil {
		p.Stop()
		return nil, "", err
	}
	return p, url, nil
}

// accepts returns nil if a server listens on address.
func accepts(ctx context.Context, address string) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return conn.Close()
}
