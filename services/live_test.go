package services_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"mcpgateway/models/modelstest"
	"mcpgateway/services"
	"mcpgateway/services/access"
	"mcpgateway/services/background/leaktest"
	"mcpgateway/services/config"
	"mcpgateway/services/declaration"
	"mcpgateway/services/gateway"
	"mcpgateway/services/gateway/subscriptions"
	"mcpgateway/services/projects"
	"mcpgateway/services/toolset"
	"mcpgateway/services/upstream/upstreamtest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// start runs the services on the database dsn until the test ends.
func start(t *testing.T, dsn string) *services.Services {
	t.Helper()
	c, err := config.Load([]string{
		"GATEWAY_DATABASE_URL=" + dsn, "GATEWAY_ADDR=127.0.0.1:8080",
		"GATEWAY_SECRETS_KEYS=test:" + "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=",
	}, "")
	if err != nil {
		t.Fatal(err)
	}
	s, err := services.New(t.Context(), c, "test", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ready, ended := make(chan struct{}), make(chan error, 1)
	go func() { ended <- s.Run(ctx, func() { close(ready) }) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run() = %v", err)
		}
		if err := s.Close(); err != nil {
			t.Errorf("closing: %v", err)
		}
	})
	select {
	case <-ready:
	case err := <-ended:
		ended <- err
		t.Fatalf("services failed to start: %v", err)
	}
	return s
}

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func await(t *testing.T, received <-chan string, want string) {
	t.Helper()
	select {
	case got := <-received:
		if got != want {
			t.Fatalf("received %s, want %s", got, want)
		}
	case <-within(t).Done():
		t.Fatalf("%s was not received", want)
	}
}

// TestUpstreamChangesReachClients covers the whole path: a change announced by
// an upstream is synced, stored, added to the project's snapshot and sent to
// listening clients, without an explicit sync.
func TestUpstreamChangesReachClients(t *testing.T) {
	agree := func(context.Context, *upstreamtest.Call) upstreamtest.Result { return upstreamtest.JSON("{}") }
	for _, era := range upstreamtest.AllEras() {
		t.Run(string(era), func(t *testing.T) {
			modelstest.EachDSN(t, func(t *testing.T, dsn string) {
				up := upstreamtest.New(upstreamtest.Options{
					Eras: []upstreamtest.Era{era}, Tools: upstreamtest.Standard(1),
					Capabilities: `{"tools":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true}}`,
					Methods: map[string]upstreamtest.Handler{
						"resources/list": func(context.Context, *upstreamtest.Call) upstreamtest.Result {
							return upstreamtest.JSON(`{"resources":[{"uri":"test://a","name":"a"}]}`)
						},
						"resources/subscribe": agree, "resources/unsubscribe": agree,
					},
				})
				url := up.Start(t)
				s := start(t, dsn)
				d, err := declaration.Parse(fmt.Appendf(nil, `{"projects":{"p":{"authMode":"none","mcpServers":{"up":{"url":%q}}}}}`, url))
				if err != nil {
					t.Fatal(err)
				}
				if _, err := s.Projects.Apply(t.Context(), d, projects.ApplyOptions{}); err != nil {
					t.Fatal(err)
				}
				if err := up.WaitForStreams(within(t), 1); err != nil {
					t.Fatal("the gateway doesn't listen to the upstream")
				}
				project, err := s.Directory.Project("p")
				limit := within(t).Done()
				for tick := time.Tick(5 * time.Millisecond); err == nil && len(project.Tools) != 1; project, err = s.Directory.Project("p") {
					select {
					case <-tick:
					case <-limit:
						t.Fatal("the first sync did not reach the project")
					}
				}
				if err != nil {
					t.Fatal(err)
				}
				caller := anonymous(t, s, project)
				received := make(chan string, 16)
				deliver := func(n subscriptions.Notification) { received <- n.Method + string(n.Params) }
				defer s.Subscriptions.Subscribe(caller, deliver, func() {})()
				defer s.Subscriptions.Attach(&gateway.Client{Principal: caller, SessionID: "session", Version: "2025-11-25"}, deliver)()

				up.SetTools(upstreamtest.Standard(2)...)
				await(t, received, subscriptions.NotifyToolsChanged)
				if project, err = s.Directory.Project("p"); err != nil || len(project.Tools) != 2 {
					t.Errorf("project has %d tools, %v", len(project.Tools), err)
				}

				client := &gateway.Client{Principal: caller, Version: "2025-11-25", SessionID: "session"}
				params := []byte(`{"uri":"test://a"}`)
				if _, err := s.Subscriptions.Handle(within(t), project, client, "resources/subscribe", params, nil); err != nil {
					t.Fatal(err)
				}
				up.Notify(subscriptions.NotifyResourceUpdated, params)
				await(t, received, subscriptions.NotifyResourceUpdated+string(params))
				agreed, cancel := s.Subscriptions.SubscribeResources(within(t), project, caller, []string{"test://a", "test://unlisted"}, deliver)
				if len(agreed) != 2 { // unlisted URIs belong to the first server with resources
					t.Errorf("acknowledged %q", agreed)
				}
				cancel()
				if _, err := s.Subscriptions.Handle(within(t), project, client, "resources/unsubscribe", params, nil); err != nil {
					t.Fatal(err)
				}
				if !era.Stateless() {
					if _, err := up.WaitForRequests(within(t), "resources/unsubscribe", 1); err != nil {
						t.Error("the upstream's stream was not closed")
					}
				}
			})
		})
	}
}

// TestResourceUpdateAcrossReplicas subscribes in one process and listens in
// another, as with a load balancer.
func TestResourceUpdateAcrossReplicas(t *testing.T) {
	agree := func(context.Context, *upstreamtest.Call) upstreamtest.Result { return upstreamtest.JSON("{}") }
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		up := upstreamtest.New(upstreamtest.Options{
			Eras: []upstreamtest.Era{upstreamtest.Era20251125}, Tools: upstreamtest.Standard(1),
			Capabilities: `{"resources":{"subscribe":true}}`,
			Methods: map[string]upstreamtest.Handler{
				"resources/list": func(context.Context, *upstreamtest.Call) upstreamtest.Result {
					return upstreamtest.JSON(`{"resources":[{"uri":"test://a","name":"a"}]}`)
				},
				"resources/subscribe": agree, "resources/unsubscribe": agree,
			},
		})
		subscribing, streaming := start(t, dsn), start(t, dsn)
		d, err := declaration.Parse(fmt.Appendf(nil, `{"projects":{"p":{"authMode":"none","mcpServers":{"up":{"url":%q}}}}}`, up.Start(t)))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := subscribing.Projects.Apply(t.Context(), d, projects.ApplyOptions{}); err != nil {
			t.Fatal(err)
		}
		limit := within(t).Done()
		for _, s := range []*services.Services{subscribing, streaming} {
			for tick := time.Tick(5 * time.Millisecond); ; {
				if project, err := s.Directory.Project("p"); err == nil && project.Capabilities.Subscribe {
					break
				}
				select {
				case <-tick:
				case <-limit:
					t.Fatal("the first sync did not reach the project")
				}
			}
		}
		project, err := subscribing.Directory.Project("p")
		if err != nil {
			t.Fatal(err)
		}
		caller := anonymous(t, subscribing, project)
		received := make(chan string, 16)
		defer streaming.Subscriptions.Attach(&gateway.Client{Principal: caller, SessionID: "session", Version: "2025-11-25"}, func(n subscriptions.Notification) { received <- n.Method + string(n.Params) })()
		client := &gateway.Client{Principal: caller, Version: "2025-11-25", SessionID: "session"}
		params := []byte(`{"uri":"test://a"}`)
		if _, err := subscribing.Subscriptions.Handle(within(t), project, client, "resources/subscribe", params, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := up.WaitForRequests(within(t), "resources/subscribe", 2); err != nil { // both processes have subscribed
			t.Fatal(err)
		}
		if err := up.WaitForStreams(within(t), 2); err != nil {
			t.Fatal(err)
		}
		// The upstream has the subscription slightly before its process has the
		// response, so its first notifications may be lost.
		for tick := time.Tick(20 * time.Millisecond); ; {
			up.Notify(subscriptions.NotifyResourceUpdated, params)
			select {
			case got := <-received:
				if want := subscriptions.NotifyResourceUpdated + string(params); got != want {
					t.Errorf("received %s, want %s", got, want)
				}
				return
			case <-tick:
			case <-limit:
				t.Fatal("the update was not received")
			}
		}
	})
}

// anonymous returns the caller of a project without authentication.
func anonymous(t *testing.T, s *services.Services, project *toolset.Snapshot) access.Principal {
	t.Helper()
	caller, err := s.ProjectAuth.Authenticate(t.Context(), &project.Project, "", "")
	if err != nil {
		t.Fatal(err)
	}
	return caller
}
