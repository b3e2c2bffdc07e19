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

// errConfig marks mistakes of the configuration, one per line.
type errConfig struct{ error }

// configure reads the configuration; addr wins over the environment.
func configure(std streams, addr string) (*config.Config, error) {
	c, err := config.Load(std.environ, addr)
	if err != nil {
		return nil, errConfig{err}
	}
	return c, nil
}

// databaseExists returns an error when there is no database, for commands to
// which it can only be a mistyped one: they would create it, find nothing in it
// and call that success. It comes before configure, which makes a key file.
func databaseExists(std streams) error {
	file := config.DatabaseFile(std.environ)
	if file == "" {
		return nil
	}
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no database %s: GATEWAY_DATABASE_URL names the one to use, and `gateway serve` creates it", file)
	}
	return nil // what else is wrong is told by who opens it
}

// openExisting is open for such commands.
func openExisting(ctx context.Context, std streams) (*services.Services, error) {
	if err := databaseExists(std); err != nil {
		return nil, err
	}
	return open(ctx, std)
}

// open returns the services for a command that administers the database, which
// is created when there is none.
func open(ctx context.Context, std streams) (*services.Services, error) {
	c, err := configure(std, "")
	if err != nil {
		return nil, err
	}
	return services.New(ctx, c, version, newLog(std.err, isTerminal(std.err), c))
}

// newLog returns the log on w: text for a terminal, else one JSON object per
// line, unless the configuration says otherwise.
func newLog(w io.Writer, terminal bool, c *config.Config) *slog.Logger {
	options := &slog.HandlerOptions{Level: c.LogLevel}
	asJSON := !terminal
	if c.LogJSON != nil {
		asJSON = *c.LogJSON
	}
	if asJSON {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

func fieldList(fields map[string]string) string {
	parts := make([]string, 0, len(fields))
	for _, path := range slices.Sorted(maps.Keys(fields)) {
		parts = append(parts, fmt.Sprintf("%s: %s", path, fields[path]))
	}
	return strings.Join(parts, "; ")
}
