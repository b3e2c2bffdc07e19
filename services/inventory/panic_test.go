package inventory_test

import (
	"context"
	"errors"
	"testing"

	"gorm.io/gorm"

	"mcpgateway/models/modelstest"
	"mcpgateway/services/background"
	"mcpgateway/services/upstream/upstreamtest"
)

func TestSyncReturnsPanic(t *testing.T) {
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		w := newSyncWorld(t, db, upstreamtest.Options{Tools: plainTools("a")})
		w.mu.Lock()
		w.before = func() { panic("broken target") }
		w.mu.Unlock()
		var panicked *background.PanicError
		if _, err := w.Sync(context.Background(), "s"); !errors.As(err, &panicked) {
			t.Fatalf("got %v, want the panic", err)
		}
		w.mu.Lock()
		w.before = nil
		w.mu.Unlock()
		if _, err := w.Sync(testContext(t), "s"); err != nil {
			t.Errorf("next sync failed: %v", err)
		}
	})
}
