package inventory_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/fault"
	"mcpgateway/services/upstream/upstreamtest"
)

// untried returns a server that is not stored, at the address of the stored
// one.
func untried(t *testing.T, w *syncWorld) models.Server {
	t.Helper()
	var stored models.Server
	if err := w.db.First(&stored, "id = 's'").Error; err != nil {
		t.Fatal(err)
	}
	return models.Server{ID: "untried", Alias: "new", URL: stored.URL, Transport: models.TransportAuto, AuthType: models.UpstreamAuthNone, Enabled: true, TimeoutMS: 10_000}
}

func TestTryReadsToolsAndStoresNothing(t *testing.T) {
	w := newSyncWorld(t, modelstest.Open(t, modelstest.SQLite(t)), upstreamtest.Options{Tools: plainTools("b", "a")})
	before := w.revision(t)
	trial, err := w.Preview(t.Context(), untried(t, w))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(trial.Tools, []string{"b", "a"}) || trial.Duration <= 0 {
		t.Errorf("Try() = %+v", trial)
	}
	var inventories int64
	if err := w.db.Model(&models.Inventory{}).Count(&inventories).Error; err != nil {
		t.Fatal(err)
	}
	if len(w.tools(t)) != 0 || inventories != 0 || w.revision(t) != before {
		t.Error("server was stored")
	}
	if h := w.Health("untried"); !h.LastSuccess.IsZero() {
		t.Errorf("health was stored: %+v", h)
	}
}

func TestTryReturnsUpstreamFault(t *testing.T) {
	w := newSyncWorld(t, modelstest.Open(t, modelstest.SQLite(t)), upstreamtest.Options{Token: "right"})
	if _, err := w.Preview(t.Context(), untried(t, w)); !fault.Is(err, fault.CodeUpstreamUnauthorized) {
		t.Errorf("got %v, want %s", err, fault.CodeUpstreamUnauthorized)
	}
	nowhere := untried(t, w)
	nowhere.URL = "http://127.0.0.1:9/mcp"
	if _, err := w.Preview(t.Context(), nowhere); !fault.Is(err, fault.CodeUpstreamUnavailable) {
		t.Errorf("got %v, want %s", err, fault.CodeUpstreamUnavailable)
	}
}

func TestTryEndsWithCaller(t *testing.T) {
	w := newSyncWorld(t, modelstest.Open(t, modelstest.SQLite(t)), upstreamtest.Options{})
	w.up.SetFault(upstreamtest.Fault{On: upstreamtest.OnAny, Kind: upstreamtest.Hang})
	ctx, leave := context.WithCancel(t.Context())
	go func() {
		defer leave()
		if err := w.up.Wait(ctx, func() bool { return w.up.Stats().Requests > 0 }); err != nil {
			t.Error(err)
		}
	}()
	// If Try continued after its caller, its own deadline would end it.
	if _, err := w.Preview(ctx, untried(t, w)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the error of the context", err)
	}
}
