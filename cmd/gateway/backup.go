package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"

	"mcpgateway/models"
	"mcpgateway/services/backups"
)

// backup copies the database while the gateway is running, PostgreSQL with
// pg_dump.
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
	copyTo := copySQLite
	if dialect == "postgres" {
		copyTo = dump
	}
	err = copyTo(ctx, c.DatabaseURL, *out)
	if errors.Is(err, backups.ErrExists) {
		return fmt.Errorf("%s already exists: use another name", *out)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(std.out, "Backup written to %s. Back up the key file, too: without it the sealed secrets are lost.\n", *out)
	return err
}

func copySQLite(ctx context.Context, dsn, out string) error {
	db, err := models.Open(ctx, dsn)
	if err != nil {
		return err
	}
	pool, err := db.DB()
	if err != nil {
		return err
	}
	defer pool.Close()
	return backups.Copy(ctx, db, out)
}

// dump writes a PostgreSQL database with the pg_dump on PATH. The password is in
// the environment of pg_dump, because other users can read arguments.
func dump(ctx context.Context, dsn, out string) error {
	program, err := exec.LookPath("pg_dump")
	if err != nil {
		return fmt.Errorf("pg_dump is not on PATH: install PostgreSQL's client programs, or run where they are: pg_dump --format=custom --file=%s \"$GATEWAY_DATABASE_URL\"", out)
	}
	address, err := url.Parse(dsn)
	if err != nil {
		return models.ErrDSN // the error has the password
	}
	environ := slices.DeleteFunc(os.Environ(), func(s string) bool { return strings.HasPrefix(s, "GATEWAY_") })
	if password, found := address.User.Password(); found {
		environ = append(environ, "PGPASSWORD="+password)
		address.User = url.User(address.User.Username())
	}
	return backups.Write(out, func(partial string) error {
		var said bytes.Buffer
		run := exec.CommandContext(ctx, program, "--format=custom", "--no-password", "--file="+partial, "--dbname="+address.String())
		run.Env, run.Stderr = environ, &said
		if err := run.Run(); err != nil {
			return fmt.Errorf("pg_dump: %w: %s", err, strings.TrimSpace(said.String()))
		}
		return nil
	})
}
