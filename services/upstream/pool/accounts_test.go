package pool_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"

	"mcpgateway/services/fault"
	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/upstreamtest"
)

// as returns the target of a personal server with the account of a user, whose
// token is "token of" and the user.
func as(person, url string, edits ...func(*upstream.Target)) *upstream.Target {
	t := target(url, edits...)
	t.Person = person
	t.Headers = func(context.Context) (http.Header, error) {
		return http.Header{"Authorization": {"Bearer token of " + person}}, nil
	}
	return t
}

// TestPeopleShareNoSession calls one server for several users concurrently. Each
// session and each stateless request has the token of one user only.
func TestPeopleShareNoSession(t *testing.T) {
	for _, era := range upstreamtest.AllEras() {
		t.Run(string(era), func(t *testing.T) {
			s := upstreamtest.New(upstreamtest.Options{Eras: []upstreamtest.Era{era}, Tools: upstreamtest.Standard(1)})
			p, url := newPool(t), s.Start(t)
			var all sync.WaitGroup
			for i := range 60 {
				all.Go(func() {
					person := fmt.Sprint("person ", i%3)
					text := fmt.Sprint(person, " call ", i)
					if got := textOf(t, mustCall(t, p, as(person, url), echo(text)).Result); got != text {
						t.Errorf("got %q, want %q", got, text)
					}
				})
			}
			all.Wait()
			owners := map[string]string{} // token by session
			for _, r := range s.Requests() {
				token, session := r.Header.Get("Authorization"), r.Header.Get("Mcp-Session-Id")
				if token == "" {
					t.Errorf("%s without a token", r.Method)
				}
				if session == "" {
					continue
				}
				if owner, known := owners[session]; known && owner != token {
					t.Errorf("session %s has tokens %q and %q", session, owner, token)
				}
				owners[session] = token
			}
			if n := len(s.Requests("initialize")); !era.Stateless() && n != 3 {
				t.Errorf("%d handshakes, want one for each of 3 users", n)
			}
		})
	}
}

func TestDroppedPersonGetsAnotherSession(t *testing.T) {
	s := upstreamtest.New(upstreamtest.Options{Eras: []upstreamtest.Era{upstreamtest.Era20251125}, Tools: upstreamtest.Standard(1)})
	p, url := newPool(t), s.Start(t)
	ann, bob := as("ann", url), as("bob", url)
	mustCall(t, p, ann, echo("a"))
	mustCall(t, p, bob, echo("b"))
	p.DropPerson(ann.ServerID, "ann")
	mustCall(t, p, ann, echo("a"))
	mustCall(t, p, bob, echo("b"))
	if n := len(s.Requests("initialize")); n != 3 {
		t.Errorf("%d handshakes, want 2 of ann and 1 of bob", n)
	}
	closed := func() bool {
		return slices.ContainsFunc(s.Requests(), func(r upstreamtest.Recorded) bool {
			return r.HTTPMethod == http.MethodDelete && r.Header.Get("Authorization") == "Bearer token of ann"
		})
	}
	if err := s.Wait(testContext(t), closed); err != nil {
		t.Error("the dropped session was not closed")
	}
}

// TestRejectedPersonHasOneBreaker rejects one user. The others are served, the
// health of the server is unchanged, and an outage pauses the calls of all.
func TestRejectedPersonHasOneBreaker(t *testing.T) {
	s := upstreamtest.New(upstreamtest.Options{Eras: []upstreamtest.Era{upstreamtest.Era20251125}, Tools: upstreamtest.Standard(1), Authorize: func(r *http.Request) bool {
		return r.Header.Get("Authorization") == "Bearer token of ann"
	}})
	p, url := newPool(t), s.Start(t)
	mustCall(t, p, as("ann", url), echo("a"))
	for range 10 {
		_, err := p.Call(testContext(t), as("bob", url), echo("b"))
		wantFault(t, err, fault.CodeUpstreamUnauthorized)
	}
	mustCall(t, p, as("ann", url), echo("a"))
	if h := p.Health(target(url).ServerID); !h.OK() || h.LastCode != "" {
		t.Errorf("health after rejections of one user: %+v", h)
	}
	s.Close()
	for range 10 {
		_, _ = p.Call(testContext(t), as("bob", url), echo("b"))
	}
	if p.Outage(target(url).ServerID) == "" {
		t.Error("calls of one user to an unreachable server do not open the breaker")
	}
}

// TestPersonHasLimitedCalls sends calls of one user that hang. The calls of
// another user are not delayed.
func TestPersonHasLimitedCalls(t *testing.T) {
	const most = 16
	s := upstreamtest.New(upstreamtest.Options{Eras: []upstreamtest.Era{upstreamtest.Era20260728}, Tools: upstreamtest.Standard(1)})
	p, url := newPool(t), s.Start(t)
	mustCall(t, p, as("bob", url), echo("b"))
	s.SetFault(upstreamtest.Fault{On: upstreamtest.OnCall, Kind: upstreamtest.Hang})
	ctx, cancel := context.WithCancel(testContext(t))
	var all sync.WaitGroup
	for range most + 1 {
		all.Go(func() { _, _ = p.Call(ctx, as("ann", url), echo("a")) })
	}
	if _, err := s.WaitForRequests(testContext(t), "tools/call", most+1); err != nil { // with bob's
		t.Fatal(err)
	}
	if active := p.Health(target(url).ServerID).Active; active != most {
		t.Errorf("%d calls in flight, want %d", active, most)
	}
	s.SetFault(upstreamtest.Fault{})
	mustCall(t, p, as("bob", url), echo("b"))
	cancel()
	all.Wait()
}
