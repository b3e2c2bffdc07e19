package services_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services"
	"mcpgateway/services/config"
)

// TestReplicasStartOnEmptyDatabase starts processes concurrently: each migrates
// the database and loads the built-in catalog.
func TestReplicasStartOnEmptyDatabase(t *testing.T) {
	modelstest.EachEmptyDSN(t, func(t *testing.T, dsn string) {
		var entries [3]int
		var running sync.WaitGroup
		for n := range entries {
			running.Go(func() {
				var err error
				if entries[n], err = startOnce(t.Context(), dsn); err != nil {
					t.Errorf("replica %d: %v", n, err)
				}
			})
		}
		running.Wait()
		var rows int64
		if err := modelstest.Open(t, dsn).Model(&models.CatalogEntry{}).Count(&rows).Error; err != nil {
			t.Fatal(err)
		}
		if want := [3]int{int(rows), int(rows), int(rows)}; entries != want || rows == 0 {
			t.Errorf("catalog entries served by the replicas: %v, in the database: %d", entries, rows)
		}
	})
}

// startOnce runs the services until they are ready and returns the number of
// catalog entries that they serve.
func startOnce(ctx context.Context, dsn string) (entries int, err error) {
	c, err := config.Load([]string{"GATEWAY_DATABASE_URL=" + dsn, "GATEWAY_ADDR=127.0.0.1:8080", "GATEWAY_SECRETS_KEYS=" + oldKey}, "")
	if err != nil {
		return 0, err
	}
	s, err := services.New(ctx, c, "test", slog.New(slog.DiscardHandler))
	if err != nil {
		return 0, err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	err = s.Run(ctx, func() { entries = len(s.Catalog.AllEntries()); stop() })
	return entries, errors.Join(err, s.Close())
}
