package oauth_test

import (
	"context"
	"encoding/json"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/go-cmp/cmp"

	"mcpgateway/routes/oauth"
	"mcpgateway/services/fault"
	"mcpgateway/services/oauthclient"
	"mcpgateway/services/oauthclient/clientdocument"
	"mcpgateway/web/guard"
	"mcpgateway/web/webtest"
)

// finisher returns a configured result and records its input.
type finisher struct {
	done oauthclient.Finished
	err  error
	got  []oauthclient.Callback
}

func (f *finisher) Finish(_ context.Context, cb oauthclient.Callback) (oauthclient.Finished, error) {
	f.got = append(f.got, cb)
	return f.done, f.err
}

// outcome responds with the result of a connection.
type outcome struct{ own bool }

// whose precedes the results of users' own accounts.
func (o outcome) whose() string {
	if o.own {
		return "own "
	}
	return ""
}

func (o outcome) Connected(c *fiber.Ctx, serverID string) error {
	return c.SendString(o.whose() + "connected " + serverID)
}

func (o outcome) NotConnected(c *fiber.Ctx, serverID string, err error) error {
	return c.Status(400).SendString(o.whose() + "failed " + serverID + ": " + fault.From(err).Message)
}

func callbackApp(f *finisher, person *guard.User) *fiber.App {
	app := fiber.New(fiber.Config{Immutable: true})
	serve := oauth.NewCallback(f, outcome{}, outcome{own: true}).Serve
	know := func(c *fiber.Ctx) error {
		if person != nil {
			c.Locals("person", person)
		}
		return c.Next()
	}
	app.Get("/oauth/callback", know, serve)
	app.Get("/oauth/callback/:issuerId", know, serve)
	return app
}

func TestCallbackIsForwarded(t *testing.T) {
	ann := &guard.User{ID: "ann", SessionID: "anns-session"}
	for name, c := range map[string]struct {
		path   string
		person *guard.User
		done   oauthclient.Finished
		err    error
		want   []oauthclient.Callback
		status int
		says   string
	}{
		"code": {
			"/oauth/callback/abc?state=s%2B1&code=c%20d&iss=https%3A%2F%2Fas.example.com", ann, oauthclient.Finished{ServerID: "s"}, nil,
			[]oauthclient.Callback{{SessionID: "anns-session", UserID: "ann", IssuerID: "abc", State: "s+1", Code: "c d", Issuer: "https://as.example.com", HasIssuer: true}}, 200, "connected s",
		},
		"no issuer": {
			"/oauth/callback?state=s&code=c", ann, oauthclient.Finished{ServerID: "s"}, nil,
			[]oauthclient.Callback{{SessionID: "anns-session", UserID: "ann", State: "s", Code: "c"}}, 200, "connected s",
		},
		"empty issuer": {
			"/oauth/callback?state=s&code=c&iss=", ann, oauthclient.Finished{ServerID: "s"}, nil,
			[]oauthclient.Callback{{SessionID: "anns-session", UserID: "ann", State: "s", Code: "c", HasIssuer: true}}, 200, "connected s",
		},
		"error": {
			"/oauth/callback?state=s&error=access_denied&error_description=no", ann, oauthclient.Finished{ServerID: "s"}, fault.Upstream(fault.CodeUpstreamUnauthorized, "refused"),
			[]oauthclient.Callback{{SessionID: "anns-session", UserID: "ann", State: "s", Error: "access_denied", Description: "no"}}, 400, "failed s: refused",
		},
		"once more": {
			"/oauth/callback?state=s&code=c", ann, oauthclient.Finished{ServerID: "s", AuthorizeURL: "https://as.example.com/again"}, nil,
			[]oauthclient.Callback{{SessionID: "anns-session", UserID: "ann", State: "s", Code: "c"}}, 303, "",
		},
		"not signed in": {"/oauth/callback?state=s&code=c", nil, oauthclient.Finished{}, nil, nil, 400, "no longer signed in"},
		"two states":    {"/oauth/callback?state=s&state=t&code=c", ann, oauthclient.Finished{}, nil, nil, 400, "more than one state"},
		"two issuers":   {"/oauth/callback?state=s&iss=a&iss=b&code=c", ann, oauthclient.Finished{}, nil, nil, 400, "more than one iss"},
	} {
		t.Run(name, func(t *testing.T) {
			f := &finisher{done: c.done, err: c.err}
			response := webtest.Send(t, callbackApp(f, c.person), webtest.Case{Method: "GET", Path: c.path})
			if response.Status != c.status || !strings.Contains(response.Body, c.says) {
				t.Errorf("got %d %s", response.Status, response.Body)
			}
			if c.status == 303 && response.Header.Get("Location") != c.done.AuthorizeURL {
				t.Errorf("Location = %s", response.Header.Get("Location"))
			}
			if response.Header.Get("Cache-Control") != "no-store" || response.Header.Get("Referrer-Policy") != "no-referrer" {
				t.Errorf("response may expose the code: %v", response.Header)
			}
			if diff := cmp.Diff(c.want, f.got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestClientDocumentRequiresPublicURL(t *testing.T) {
	for public, served := range map[string]bool{
		"https://gateway.example.com": true, "https://8.8.8.8": true, "https://gateway.example.com/base": true,
		"http://gateway.example.com": false, "http://127.0.0.1:8080": false, "https://127.0.0.1": false, "https://localhost:8443": false, "https://10.1.2.3": false, "https://[::1]": false,
	} {
		u, err := url.Parse(public)
		if err != nil {
			t.Fatal(err)
		}
		lookup := func(context.Context, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr("8.8.8.8")}, nil
		}
		d := clientdocument.New(u, lookup, time.Now)
		app := fiber.New(fiber.Config{ErrorHandler: func(c *fiber.Ctx, err error) error { return c.Status(404).SendString(err.Error()) }})
		app.All(clientdocument.Path, oauth.NewClientDocument(d).Serve)
		response := webtest.Send(t, app, webtest.Case{Method: "GET", Path: clientdocument.Path})
		if (response.Status == 200) != served {
			t.Errorf("%s: %d %s", public, response.Status, response.Body)
		}
		if (d.IneligibleReason(t.Context()) == "") != served {
			t.Errorf("%s: IneligibleReason() = %q", public, d.IneligibleReason(t.Context()))
		}
		if !served {
			continue
		}
		var m map[string]any
		if err := json.Unmarshal([]byte(response.Body), &m); err != nil {
			t.Fatal(err)
		}
		if m["client_id"] != public+"/oauth/client-metadata.json" || m["token_endpoint_auth_method"] != "none" {
			t.Errorf("%s: got %v", public, m)
		}
		if diff := cmp.Diff([]any{public + "/oauth/callback"}, m["redirect_uris"]); diff != "" {
			t.Error(diff)
		}
	}
}

func TestCallbackOfOwnAccounts(t *testing.T) {
	for _, tt := range []struct {
		name, role, want string
		done             oauthclient.Finished
		err              error
	}{
		{name: "own account", role: guard.RoleAdmin, done: oauthclient.Finished{ServerID: "s1", UserID: "ann"}, want: "own connected s1"},
		{name: "failed", role: guard.RoleAdmin, done: oauthclient.Finished{ServerID: "s1", UserID: "ann"}, err: fault.Invalid("expired"), want: "own failed s1: expired"},
		{name: "unknown flow of a member", role: guard.RoleMember, err: fault.Forbidden("another session"), want: "own failed : another session"},
		{name: "unknown flow of an administrator", role: guard.RoleAdmin, err: fault.Forbidden("another session"), want: "failed : another session"},
		{name: "shared account", role: guard.RoleMember, done: oauthclient.Finished{ServerID: "s1"}, want: "connected s1"},
	} {
		app := callbackApp(&finisher{done: tt.done, err: tt.err}, &guard.User{ID: "ann", Role: tt.role, SessionID: "anns-session"})
		if got := webtest.Send(t, app, webtest.Case{Method: "GET", Path: "/oauth/callback?state=s"}).Body; got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
