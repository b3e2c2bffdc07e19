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

// TestReplicasMayStartAtOnceOnAnEmptyDatabase lets processes begin together:
// each migrates and loads the catalog that comes along.
func TestReplicasMayStartAtOnceOnAnEmptyDatabase(t *testing.T) {
	modelstest.EachEmptyDSN(t, func(t *testing.T, dsn string) {
		const replicas = 3
		var running sync.WaitGroup
		for n := range replicas {
			running.Go(func() {
				if err := startOnce(t.Context(), dsn); err != nil {
					t.Errorf("replica %d: %v", n, err)
				}
			})
		}
		running.Wait()
		together := count(t, dsn)
		if err := startOnce(t.Context(), dsn); err != nil {
			t.Fatal(err)
		}
		if alone := count(t, dsn); alone != together || alone == 0 {
			t.Errorf("the catalog has %d entries after %d replicas began, and %d after one more", together, replicas, alone)
		}
	})
}

// startOnce runs the services until they are ready.
func startOnce(ctx context.Context, dsn string) error {
	c, err := config.Load([]string{"GATEWAY_DATABASE_URL=" + dsn, "GATEWAY_ADDR=127.0.0.1:8080", "GATEWAY_SECRETS_KEYS=" + oldKey}, "")
	if err != nil {
		return err
	}
	s, err := services.New(ctx, c, "test", slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ready := false
	err = s.Run(ctx, func() { ready = true; stop() })
	if err == nil && !ready {
		err = errors.New("it was never ready")
	}
	return errors.Join(err, s.Close())
}

func count(t *testing.T, dsn string) (n int64) {
	t.Helper()
	if err := modelstest.Open(t, dsn).Model(&models.CatalogEntry{}).Count(&n).Error; err != nil {
		t.Fatal(err)
	}
	return n
}
