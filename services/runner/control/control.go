//go:build linux || darwin

// Package control is what the user of a runner can ask it for over its control
// socket.
package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"syscall"
	"time"

	"mcpgateway/services/runner/state"
	"mcpgateway/services/runners/wire"
)

// Paths that only the control socket has, in addition to those of package wire.
const (
	PathStatus = "/v1/status" // GET: a Status
	PathReload = "/v1/reload" // POST: a Reload
)

// Status describes a runner to its user.
type Status struct {
	wire.List
	Commands map[string][]string `json:"commands"` // program and arguments as written, by name
	Notes    []string            `json:"notes"`    // for example aliases that a gateway refused
}

// Reload is the effect of a reload: names of programs.
type Reload struct {
	Added    []string `json:"added"`
	Replaced []string `json:"replaced"`
	Settings []string `json:"settings"`
	Removed  []string `json:"removed"`
}

// limit is the time for a request.
const limit = 15 * time.Second

// maxBody is the maximum size of a response in bytes.
const maxBody = 16 << 20

// Client sends requests to the runner with a state directory.
type Client struct {
	dir  string
	http *http.Client
}

// NotRunning is the error when no runner listens in a directory.
type NotRunning struct{ Dir string }

func (e *NotRunning) Error() string {
	return fmt.Sprintf("no runner is running with the directory %s: choose another one with --state", e.Dir)
}

// NewClient returns the client for a state directory. The caller must call Close.
func NewClient(dir string) *Client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", state.Socket(dir))
	}
	return &Client{dir, &http.Client{Transport: &http.Transport{DialContext: dial}, Timeout: limit}}
}

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// List returns the programs.
func (c *Client) List(ctx context.Context) (l wire.List, err error) {
	return l, c.send(ctx, http.MethodGet, wire.PathServers, &l)
}

// Status returns the programs with their commands.
func (c *Client) Status(ctx context.Context) (s Status, err error) {
	return s, c.send(ctx, http.MethodGet, PathStatus, &s)
}

// Log returns the latest output of a program.
func (c *Client) Log(ctx context.Context, name string) (l wire.Log, err error) {
	return l, c.send(ctx, http.MethodGet, of(name, wire.SegmentLog), &l)
}

// Restart ends the processes of a program and starts it again.
func (c *Client) Restart(ctx context.Context, name string) error {
	return c.send(ctx, http.MethodPost, of(name, wire.SegmentRestart), nil)
}

// Stop ends the processes of a program.
func (c *Client) Stop(ctx context.Context, name string) error {
	return c.send(ctx, http.MethodPost, of(name, wire.SegmentStop), nil)
}

// Reload requests that the runner reads its files and applies everything.
func (c *Client) Reload(ctx context.Context) (r Reload, err error) {
	return r, c.send(ctx, http.MethodPost, PathReload, &r)
}

// of returns a path of a program.
func of(name, segment string) string {
	return wire.PathServer + url.PathEscape(name) + "/" + segment
}

// send sends a request. It decodes the response into out unless that is nil. The
// error is *NotRunning, or has the text of the response.
func (c *Client) send(ctx context.Context, method, path string, out any) error {
	r, err := http.NewRequestWithContext(ctx, method, "http://runner"+path, http.NoBody)
	if err != nil {
		return err
	}
	resp, err := c.http.Do(r)
	switch {
	case errors.Is(err, os.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return &NotRunning{Dir: c.dir}
	case err != nil:
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	switch {
	case err != nil:
		return err
	case resp.StatusCode >= http.StatusMultipleChoices:
		var failure wire.Error
		if json.Unmarshal(body, &failure) != nil || failure.Message == "" {
			failure.Message = string(bytes.TrimSpace(body))
		}
		return errors.New(failure.Message)
	case out == nil:
		return nil
	}
	return json.Unmarshal(body, out)
}
