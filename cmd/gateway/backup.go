package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"mcpgateway/models"
)

// backup copies a SQLite database while the gateway is running.
func backup(ctx context.Context, std streams, args []string) error {
	fs := flags(std, "backup")
	out := fs.String("o", "", "file to write, which must not exist")
	if err := parse(fs, args); err != nil {
		return err
	}
	if *out == "" {
		return usagef("-o is required")
	}
	if err := databaseExists(std); err != nil {
		return err
	}
	c, err := configure(std, "")
	if err != nil {
		return err
	}
	dialect, err := models.Dialect(c.DatabaseURL)
	if err != nil {
		return err
	}
	if dialect != "sqlite" {
		return errors.New("backup only supports SQLite: use pg_dump for PostgreSQL")
	}
	if _, err := os.Stat(*out); err == nil {
		return fmt.Errorf("%s already exists: use another name", *out)
	}
	db, err := models.Open(ctx, c.DatabaseURL)
	if err != nil {
		return err
	}
	pool, err := db.DB()
	if err != nil {
		return err
	}
	defer pool.Close()
	// The file is created first, so that other users can't read it.
	if err := os.WriteFile(*out, nil, 0o600); err != nil {
		return err
	}
	if err := db.WithContext(ctx).Exec("VACUUM INTO ?", *out).Error; err != nil {
		return errors.Join(fmt.Errorf("copy database: %w", err), os.Remove(*out))
	}
	_, err = fmt.Fprintf(std.out, "Backup written to %s. Back up the key file, too: without it the sealed secrets are lost.\n", *out)
	return err
}
