//go:build conformance

package driver

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mcpgateway/services/upstream/upstreamtest"
)

// authorizing is an upstream server with its own authorization server.
type authorizing struct {
	mcp    http.Handler
	origin string
	grants string       // issued access token; the upstream accepts only "good"
	client string       // ID of a registered client; empty offers dynamic registration
	visits atomic.Int32 // of the authorization endpoint
}

func (a *authorizing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	respond := func(status int, body map[string]any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(body)
	}
	switch r.URL.Path {
	case "/.well-known/oauth-protected-resource/mcp":
		respond(200, map[string]any{"resource": a.origin + "/mcp", "authorization_servers": []string{a.origin}})
	case "/.well-known/oauth-authorization-server":
		m := map[string]any{
			"issuer": a.origin, "authorization_endpoint": a.origin + "/authorize", "token_endpoint": a.origin + "/token",
			"code_challenge_methods_supported": []string{"S256"},
		}
		if a.client == "" {
			m["registration_endpoint"] = a.origin + "/register"
		}
		respond(200, m)
	case "/register":
		respond(201, map[string]any{"client_id": "new", "token_endpoint_auth_method": "none"})
	case "/authorize":
		a.visits.Add(1)
		q := r.URL.Query()
		if want := a.client; want != "" && q.Get("client_id") != want {
			w.WriteHeader(400)
			return
		}
		http.Redirect(w, r, q.Get("redirect_uri")+"?"+url.Values{"state": {q.Get("state")}, "code": {"c"}}.Encode(), http.StatusFound)
	case "/token":
		respond(200, map[string]any{"access_token": a.grants, "token_type": "Bearer"})
	default:
		a.mcp.ServeHTTP(w, r)
	}
}

func TestUserAuthorizesServer(t *testing.T) {
	for name, c := range map[string]struct {
		grants, client, context string
		ok                      bool
		visits                  int32
	}{
		"registered":     {"good", "", "", true, 1},
		"preregistered":  {"good", "given", `{"name":"x","client_id":"given","client_secret":"sesame"}`, true, 1},
		"wrong token":    {"bad", "", "", false, 3},
		"unknown client": {"good", "given", "", false, 0},
		"broken context": {"good", "", `{`, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := upstreamtest.New(upstreamtest.Options{Tools: upstreamtest.Standard(2), Token: "good"})
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			a := &authorizing{mcp: s, origin: "http://" + listener.Addr().String(), grants: c.grants, client: c.client}
			if _, err := s.Serve(t.Context(), listener, a); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(s.Close)
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			var log bytes.Buffer
			err = Run(ctx, Job{Scenario: "auth/test", URL: a.origin + "/mcp", Context: []byte(c.context)}, &log)
			if (err == nil) != c.ok || a.visits.Load() != c.visits {
				t.Errorf("Run() = %v with %d authorizations, want success %t with %d; log:\n%s", err, a.visits.Load(), c.ok, c.visits, &log)
			}
			if c.ok && (s.Calls() == 0 || !strings.Contains(log.String(), "authorizing the connection")) {
				t.Errorf("%d calls, want some and an authorization; log:\n%s", s.Calls(), &log)
			}
		})
	}
}
