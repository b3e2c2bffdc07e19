package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"mcpgateway/models"
)

// backup writes a copy of a SQLite database while the gateway runs.
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
		return errors.New("this command copies SQLite databases: use pg_dump for PostgreSQL")
	}
	if _, err := os.Stat(*out); err == nil {
		return fmt.Errorf("%s exists already: name a file that does not", *out)
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
	// The file is created first, so that nobody else may read what is in it.
	if err := os.WriteFile(*out, nil, 0o600); err != nil {
		return err
	}
	if err := db.WithContext(ctx).Exec("VACUUM INTO ?", *out).Error; err != nil {
		return errors.Join(fmt.Errorf("copy the database: %w", err), os.Remove(*out))
	}
	_, err = fmt.Fprintf(std.out, "%s written; keep the key file with it, without which sealed secrets are lost\n", *out)
	return err
}
