package main

import (
	"context"
	"fmt"

	"mcpgateway/migrations"
	"mcpgateway/models"
)

func migrate(ctx context.Context, std streams, args []string) error {
	if len(args) != 1 || args[0] != "up" && args[0] != "status" {
		return subcommandError(args, "up or status")
	}
	if args[0] == "status" {
		if err := databaseExists(std); err != nil {
			return err
		}
	}
	c, err := configure(std, "")
	if err != nil {
		return err
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
	if args[0] == "up" {
		n, err := migrations.Up(ctx, pool, db.Name())
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(std.out, "%d migrations applied\n", n)
		return err
	}
	steps, err := migrations.Status(ctx, pool, db.Name())
	if err != nil {
		return err
	}
	for _, step := range steps {
		state := "pending"
		if step.Applied {
			state = "applied"
		}
		fmt.Fprintf(std.out, "%s  %s\n", state, step.Name)
	}
	return nil
}
