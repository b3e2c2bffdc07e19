// Package bed starts what is measured, each in a process of its own, and reads
// what these processes use.
package bed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"mcpgateway/cmd/conformance/stage"
)

const (
	readyLimit   = time.Minute
	commandLimit = 5 * time.Minute
	poll         = time.Millisecond
	maxAnswer    = 16 << 20 // bytes of an answer that is read whole
	shownLog     = 4 << 10  // bytes of a log that an error tells
)

// Home is where a gateway keeps its database and its log.
type Home struct {
	binary, folder string
	env            []string
}

// connectionsPerAddress allows the load generator, which is one address, more
// connections than the default.
const connectionsPerAddress = "GATEWAY_MAX_CONNECTIONS_PER_ADDRESS=4096"

// NewHome creates a folder for a gateway with SQLite, connectionsPerAddress,
// the settings in env and otherwise defaults.
func NewHome(binary, folder string, env ...string) (*Home, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	return &Home{binary: binary, folder: folder, env: append(append(stage.BareEnvironment(folder), connectionsPerAddress), env...)}, nil
}

// Remove removes the folder, whose gateway has ended, with the database, which
// may be large. What cannot be removed is left to whoever made the folder's
// own.
func (h *Home) Remove() { _ = os.RemoveAll(h.folder) }

// command runs a command of the gateway to its end.
func (h *Home) command(ctx context.Context, args ...string) (string, error) {
	return stage.Must(ctx, stage.Program{
		Name: "gateway " + strings.Join(args, " "), Path: h.binary, Dir: h.folder, Env: h.env, Args: args,
	}, commandLimit)
}

// Apply declares projects by a file.
func (h *Home) Apply(ctx context.Context, declared any) error {
	raw, err := json.Marshal(declared)
	if err != nil {
		return err
	}
	file := filepath.Join(h.folder, "declared.json")
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		return err
	}
	_, err = h.command(ctx, "apply", "-f", file)
	return err
}

// Key returns a new API key of a project.
func (h *Home) Key(ctx context.Context, project string) (string, error) {
	key, err := h.command(ctx, "keys", "create", "--project", project, "--name", "bench")
	return strings.TrimSpace(key), err
}

// Import imports a catalog file.
func (h *Home) Import(ctx context.Context, file string) error {
	_, err := h.command(ctx, "catalog", "import", "--file", file)
	return err
}

// Gateway is a gateway that serves.
type Gateway struct {
	Address string        // host:port
	Start   time.Duration // from its start until /readyz said that it is ready
	Ready   time.Time     // when that was
	process *stage.Process
	web     *http.Client
}

// Serve starts the gateway and returns when it is ready. Its log goes to a
// file that nobody reads meanwhile. It ends with ctx or with Stop.
func (h *Home) Serve(ctx context.Context) (*Gateway, error) {
	address, err := stage.FreeAddress(ctx)
	if err != nil {
		return nil, err
	}
	log, err := os.OpenFile(filepath.Join(h.folder, "gateway.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close() // the process has its own handle
	began := time.Now()
	process, err := stage.Start(ctx, stage.Program{
		Name: "gateway serve", Path: h.binary, Dir: h.folder, Env: h.env, Args: []string{"serve", "--addr", address}, Stderr: log,
	})
	if err != nil {
		return nil, err
	}
	g := &Gateway{Address: address, process: process, web: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
	if err := g.awaitReady(ctx); err != nil {
		g.Stop()
		return nil, fmt.Errorf("%w; its log ends with:\n%s", err, h.logEnd())
	}
	g.Ready = time.Now()
	g.Start = g.Ready.Sub(began)
	return g, nil
}

// awaitReady returns when /readyz says so. Nothing answers there before the
// gateway can serve, and what connects early waits for it.
func (g *Gateway) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for {
		_, err := g.Get(ctx, "/readyz")
		if err == nil {
			return nil
		}
		select {
		case <-g.process.Ended():
			return errors.New("the gateway ended by itself")
		case <-ctx.Done():
			return fmt.Errorf("the gateway was not ready within %v: %w", readyLimit, err)
		case <-tick.C:
		}
	}
}

func (h *Home) logEnd() string {
	raw, err := os.ReadFile(filepath.Join(h.folder, "gateway.log"))
	if err != nil {
		return err.Error()
	}
	return string(raw[max(0, len(raw)-shownLog):])
}

// PID returns the number of the gateway's process.
func (g *Gateway) PID() int { return g.process.PID() }

// Stop ends the gateway and returns when it has ended.
func (g *Gateway) Stop() { g.process.Stop() }

// Get returns what the gateway answers at a path. A status other than 200 is
// an error.
func (g *Gateway) Get(ctx context.Context, path string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+g.Address+path, nil)
	if err != nil {
		return nil, err
	}
	response, err := g.web.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answered %d: %s", path, response.StatusCode, body[:min(len(body), shownLog)])
	}
	return body, err
}
