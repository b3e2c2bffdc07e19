// Package keeper keeps a runner alive from the process that needs it: it starts
// the guard, which starts the runner, and starts it again when it ends.
package keeper

import (
	"log/slog"
	"time"

	"mcpgateway/services/runner/files"
)

// Config is the configuration of a runner. The runner reads it from its standard
// input, because others can see arguments and environments.
type Config struct {
	Runner string `json:"runner"` // its ID; set by Start
	State  string `json:"state"`  // its directory

	Paths        []string     `json:"paths"` // files of programs
	Format       files.Format `json:"format"`
	MaxProcesses int          `json:"maxProcesses"`     // of all programs; 0 means the default
	Watch        bool         `json:"watch"`            // apply changed commands at once
	Version      string       `json:"version"`          // of the gateway
	LogJSON      bool         `json:"logJson"`          // log lines as JSON
	LogLevel     slog.Level   `json:"logLevel"`         // of the log lines
	Attached     bool         `json:"attached"`         // descriptor 3 is a connection to a gateway; set by Start
	Listen       string       `json:"listen,omitempty"` // 127.0.0.1:PORT or unix:PATH
	Connect      *Connect     `json:"connect,omitempty"`
	Token        string       `json:"token,omitempty"` // of Listen or Connect
}

// Connect is the gateway that a runner dials.
type Connect struct {
	URL       string `json:"url"`
	Prefix    string `json:"prefix"` // of the servers' aliases
	AllowHTTP bool   `json:"allowHttp"`
}

// Times of the keeper.
const (
	minDelay  = 200 * time.Millisecond // before the guard starts again; doubles
	maxDelay  = time.Minute            // a guard that ran longer resets the delay
	stopLimit = 30 * time.Second       // of a stop by request: calls, then programs
	killLimit = 5 * time.Second        // of a stop without one
)
