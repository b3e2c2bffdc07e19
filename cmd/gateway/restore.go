package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"mcpgateway/services"
	"mcpgateway/services/config"
)

// restore implements `gateway restore --check FILE`. It verifies a backup with the
// keys of the environment and changes neither the file nor the database.
func restore(ctx context.Context, std streams, args []string) error {
	flagSet := flags(std, "restore")
	file := flagSet.String("check", "", "backup to verify")
	if err := parse(flagSet, args); err != nil {
		return err
	}
	if *file == "" {
		return usagef("--check FILE is required")
	}
	if err := keysExist(std); err != nil {
		return err
	}
	c, err := configure(std, "")
	if err != nil {
		return err
	}
	found, err := services.CheckBackup(ctx, c, *file, version, newLog(std.err, isTerminal(std.err), c))
	if err != nil {
		return fmt.Errorf("%s can't be restored: %w", *file, err)
	}
	_, err = fmt.Fprintf(std.out, "%s can be restored.\nfile: intact, %d bytes\nschema: version %d, %d migrations pending\nkeys: %d sealed secrets open\naudit log: %d rows, all unchanged; hash of the last row: %s\nstored: %d projects, %d servers, %d keys, %d people\n",
		*file, found.Size, found.Schema, found.Pending, found.Secrets, found.Audit.Count-found.Audit.Removed, found.Audit.Head, found.Projects, found.Servers, found.Keys, found.People)
	return err
}

// keysExist returns an error if there are no keys for the backup. Without this,
// configure would create others.
func keysExist(std streams) error {
	database := config.DatabaseFile(std.environ)
	if database == "" || config.HasKeys(std.environ) {
		return nil
	}
	file := filepath.Join(filepath.Dir(database), "secrets.key")
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("no keys: set GATEWAY_SECRETS_KEYS, or put the key file of the backup at %s", file)
	}
	return nil // other errors are reported when it is read
}
