package mcp_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/routes/mcp"
	"mcpgateway/routes/mcp/session"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/access"
	"mcpgateway/services/fault"
	"mcpgateway/services/gateway"
	"mcpgateway/services/toolset"
	"mcpgateway/web"
	"mcpgateway/web/ratelimit"
	"mcpgateway/web/webtest"
)

// verdict is an Authenticator with a fixed outcome.
type verdict func() (access.Principal, error)

func (v verdict) Authenticate(context.Context, *models.Project, string, string) (access.Principal, error) {
	return v()
}

// untouchable fails the test if a request reaches the gateway.
type untouchable struct{ t *testing.T }

func (u untouchable) Handle(_ context.Context, _ *toolset.Snapshot, client *gateway.Client, method string, _ []byte, _ *gateway.RequestInfo) ([]byte, error) {
	u.t.Errorf("%s was handled for the principal %q", method, client.Principal.ID())
	return []byte("{}"), nil
}

func (u untouchable) ExplainError(_ *gateway.Client, _ *toolset.Server, _ string, err error) error {
	return err
}

func (u untouchable) ListenTasks(context.Context, *toolset.Snapshot, *gateway.Client, []string, func(string, []byte)) ([]string, error) {
	u.t.Error("tasks were watched")
	return nil, nil
}

func TestAuthFailClosed(t *testing.T) {
	a := routestest.New(t, modelstest.SQLite(t))
	a.Apply(t, `{"projects":{"p":{"authMode":"api_key"}}}`)
	for name, tc := range map[string]struct {
		verdict verdict
		status  int
	}{
		"an unknown error": {func() (access.Principal, error) {
			return access.Principal{}, errors.New("the database is gone: hunter2")
		}, 500},
		"an internal fault": {func() (access.Principal, error) { return access.Principal{}, fault.Internal(errors.New("hunter2")) }, 500},
		"unavailable": {func() (access.Principal, error) {
			return access.Principal{}, fault.New(fault.KindUnavailable, fault.CodeUnavailable, "later")
		}, 503},
		"a cancelled context": {func() (access.Principal, error) { return access.Principal{}, context.Canceled }, 500},
		"a panic":             {func() (access.Principal, error) { panic("hunter2") }, 500},
		"a nil dereference":   {func() (access.Principal, error) { var p *access.Principal; return *p, nil }, 500},
		"zero principal":      {func() (access.Principal, error) { return access.Principal{}, nil }, 401},
	} {
		t.Run(name, func(t *testing.T) {
			s := a.Services
			names := web.NewNames(s.Config.PublicURL, nil, nil, true)
			endpoint := mcp.NewEndpoint(mcp.Options{
				Views: s.Views, Auth: tc.verdict, Gateway: untouchable{t}, Sessions: session.NewSessions(s.Config.Keys, s.EndedSessions, time.Now, slog.New(slog.DiscardHandler)),
				Names: names, Failures: ratelimit.NewFailureLimit(time.Now), Limits: s.CallLimits, Subscriptions: s.Subscriptions, MaxStreams: 10,
			})
			app := web.New(web.Options{Names: names, Log: slog.New(slog.DiscardHandler)})
			app.All("/v1/mcp/:projectSlug/request", endpoint.Request)
			app.All("/v1/mcp/:projectSlug/sse", endpoint.SSE)
			for _, path := range []string{"/v1/mcp/p/request", "/v1/mcp/p/sse"} {
				for _, method := range []string{"POST", "GET", "DELETE", "PUT"} {
					for _, body := range []string{`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`, `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, `{`} {
						if method == "GET" {
							body = ""
						}
						answer := webtest.Send(t, app, webtest.Case{Method: method, Path: path, Body: body})
						challenge := ""
						if tc.status == 401 {
							challenge = `Bearer realm="gateway"`
						}
						webtest.Check(t, webtest.Case{
							Status: tc.status, WantHeader: map[string]string{"WWW-Authenticate": challenge, "Mcp-Session-Id": ""}, NotBody: []string{"hunter2", "tools", `"result"`, "goroutine"},
						}, answer)
						if t.Failed() {
							t.Fatalf("%s %s %s", method, path, body)
						}
					}
				}
			}
		})
	}
}
