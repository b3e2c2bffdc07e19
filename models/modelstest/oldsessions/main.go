// Command oldsessions makes everybody's last proof of who they are an hour
// old, as a test of the pages wants it that cannot wait for so long:
//
//	go run ./models/modelstest/oldsessions sqlite:data/gateway.db
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"mcpgateway/models"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: oldsessions DATABASE_URL")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "oldsessions:", err)
		os.Exit(1)
	}
}

func run(dsn string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
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
	past := time.Now().UTC().Add(-time.Hour)
	return db.WithContext(ctx).Model(&models.BrowserSession{}).Where("authenticated_at > ?", past).Update("authenticated_at", past).Error
}
