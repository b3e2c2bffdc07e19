// Command oldsessions moves the last use and the last authentication of every
// session into the past, for browser tests of expired sessions:
//
//	go run ./models/modelstest/oldsessions sqlite:data/gateway.db 1h
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"mcpgateway/models"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: oldsessions DATABASE_URL AGE")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "oldsessions:", err)
		os.Exit(1)
	}
}

func run(dsn, age string) error {
	d, err := time.ParseDuration(age)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	db, err := models.Open(ctx, dsn)
	if err != nil {
		return err
	}
	pool, err := db.DB()
	if err != nil {
		return err
	}
	defer func() { _ = pool.Close() }()
	past := time.Now().UTC().Add(-d)
	return db.WithContext(ctx).Model(&models.BrowserSession{}).Where("revoked_at IS NULL").
		Updates(map[string]any{"authenticated_at": past, "last_seen_at": past, "confirmed_at": nil}).Error
}
