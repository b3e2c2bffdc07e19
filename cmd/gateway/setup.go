package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"

	"mcpgateway/services"
	"mcpgateway/services/config"
)

// errConfig contains configuration problems, one per line.
type errConfig struct{ error }

// configure loads the configuration. addr overrides the environment.
func configure(std streams, addr string) (*config.Config, error) {
	c, err := config.Load(std.environ, addr)
	if err != nil {
		return nil, errConfig{err}
	}
	return c, nil
}

// databaseExists returns an error if there is no database, for commands that
// would otherwise create an empty one for a mistyped path and succeed. It must
// be called before configure, which creates a key file.
func databaseExists(std streams) error {
	file := config.DatabaseFile(std.environ)
	if file == "" {
		return nil
	}
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("no database at %s: set GATEWAY_DATABASE_URL, or create it with `gateway serve`", file)
	}
	return nil // other errors are reported when it is opened
}

// openExisting is open for commands that require an existing database.
func openExisting(ctx context.Context, std streams) (*services.Services, error) {
	if err := databaseExists(std); err != nil {
		return nil, err
	}
	return open(ctx, std)
}

// open returns the services for a command that administers the database. It
// creates a missing database.
func open(ctx context.Context, std streams) (*services.Services, error) {
	c, err := configure(std, "")
	if err != nil {
		return nil, err
	}
	return services.New(ctx, c, version, newLog(std.err, isTerminal(std.err), c))
}

// newLog returns a logger to w: text for a terminal, otherwise JSON lines,
// unless configured differently.
func newLog(w io.Writer, terminal bool, c *config.Config) *slog.Logger {
	options := &slog.HandlerOptions{Level: c.LogLevel}
	if logsJSON(terminal, c) {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}

// logsJSON reports whether log lines are JSON.
func logsJSON(terminal bool, c *config.Config) bool {
	if c.LogJSON != nil {
		return *c.LogJSON
	}
	return !terminal
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}

func fieldList(fields map[string]string) string {
	parts := make([]string, 0, len(fields))
	for _, path := range slices.Sorted(maps.Keys(fields)) {
		parts = append(parts, fmt.Sprintf("%s: %s", path, fields[path]))
	}
	return strings.Join(parts, "; ")
}
