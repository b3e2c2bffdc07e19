package services_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services"
	"mcpgateway/services/config"
	"mcpgateway/services/gateway"
)

// TestStartDoesNotWaitForUpstreams uses 50 servers: half accept requests and
// never respond, half refuse connections. Their stored tools are served before
// the first request to them, and while they hang.
func TestStartDoesNotWaitForUpstreams(t *testing.T) {
	const servers = 50
	var requests atomic.Int64
	reached, over := make(chan struct{}, servers), make(chan struct{})
	hole := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		requests.Add(1)
		select {
		case reached <- struct{}{}:
		default:
		}
		<-over
	}))
	defer hole.Close()
	defer close(over)
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone.Close()

	dsn := modelstest.SQLite(t)
	db := modelstest.Open(t, dsn)
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	rows := []any{&models.Project{ID: "p", Slug: "p", AuthMode: models.AuthNone, ToolExposure: models.ExposeFull}}
	for i := range servers {
		id, url := fmt.Sprintf("s%02d", i), hole.URL
		if i%2 == 1 {
			url = "http://" + gone.Addr().String() + "/mcp"
		}
		rows = append(rows,
			&models.Server{
				ID: id, ProjectID: "p", Alias: id, AliasFold: id, URL: url, Transport: models.TransportAuto, AuthType: models.UpstreamAuthNone,
				Enabled: true, TimeoutMS: 60_000, SessionMode: models.SessionShared, DefinitionPolicy: models.PolicyFollow, ConfigVersion: 1,
			},
			&models.Inventory{ServerID: id, SyncedAt: &at, AttemptedAt: at},
			&models.Tool{ServerID: id, Name: "echo", Definition: `{"name":"echo","inputSchema":{"type":"object"}}`, DefinitionHash: "h", FirstSeenAt: at, ChangedAt: at})
	}
	for _, row := range rows {
		if err := db.Create(row).Error; err != nil {
			t.Fatal(err)
		}
	}

	c, err := config.Load([]string{
		"GATEWAY_DATABASE_URL=" + dsn, "GATEWAY_ADDR=127.0.0.1:8080", "GATEWAY_BUILTIN_CATALOG=false",
		"GATEWAY_SECRETS_KEYS=test:" + "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=",
	}, "")
	if err != nil {
		t.Fatal(err)
	}
	s, err := services.New(t.Context(), c, "test", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	served := func() {
		if err := s.Ready(t.Context()); err != nil {
			t.Errorf("not ready: %v", err)
		}
		p, err := s.Directory.Project("p")
		if err != nil {
			t.Error(err)
			return
		}
		list, err := s.Gateway.Handle(t.Context(), p, &gateway.Client{Version: gateway.VersionLatestHandshake}, "tools/list", []byte(`{}`), nil)
		if n := strings.Count(string(list), `__echo"`); err != nil || n != servers {
			t.Errorf("%d tools are listed: %v", n, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- s.Run(ctx, func() {
			served()
			if n := requests.Load(); n != 0 {
				t.Errorf("%d requests were sent before it was ready", n)
			}
		})
	}()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run() = %v", err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	select {
	case <-reached:
	case err := <-ended:
		ended <- err
		t.Fatalf("Run() returned early: %v", err)
	}
	served()
}
