package people_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/upstream/upstreamtest"
)

// TestPeopleNeverShare sends 30 calls of each of two people at the same time, of
// every method, to servers of every revision and through two replicas, while
// their tokens are refreshed. Every token must reach its person's sessions only,
// and every response must be the person's.
func TestPeopleNeverShare(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		servers := map[string]*upstreamtest.EchoServer{}
		for i, era := range upstreamtest.AllEras() {
			servers[fmt.Sprintf("e%d", i)] = upstreamtest.NewEchoServer(era)
		}
		w := newWorld(t, dsn, "oauth", servers)
		replicas := []string{w.base, w.base}
		if strings.HasPrefix(dsn, "postgres") {
			replicas[1] = routestest.New(t, dsn).Serve(t)
		}
		names := []string{"ann", "ben"}
		for alias, e := range servers {
			for _, name := range names {
				w.Connect(t, w.ids[alias], w.people[name], name, name == "ann")
			}
			w.Sync(t, "p", alias)
			e.ForgetRequests()
		}
		tokens := map[string][]string{}
		for _, name := range names {
			tokens[name] = []string{w.PersonalKey(t, "p", w.people[name]), w.PersonalToken(t, "p", w.people[name])}
			w.synced(t, replicas, tokens[name])
		}
		var all sync.WaitGroup
		begin, halfway, revoked := make(chan struct{}), make(chan struct{}, 60), make(chan struct{})
		for _, name := range names {
			for i := range 30 {
				s := &sharer{name: name, alias: fmt.Sprintf("e%d", i%5)}
				version := []string{handshake, stateless}[i/5%2]
				c := &routestest.Client{Endpoint: replicas[i%2] + "/v1/mcp/p/request", Token: tokens[name][i/10%2], Version: version, Capabilities: `{"elicitation":{"form":{}},"sampling":{}}`, Notified: s.note, Respond: s.respond}
				s.client, s.server = c.Open(t), servers[s.alias]
				all.Go(func() {
					<-begin
					for round := range 2 {
						if round == 1 {
							halfway <- struct{}{}
							if i%10 < 5 { // at every server, some call before and some after the revocation
								<-revoked
							}
						}
						if err := s.run(t.Context(), round == 0); err != nil {
							t.Errorf("%s at %s, %s: %v", name, s.alias, version, err)
						}
					}
				})
			}
		}
		close(begin)
		for range 20 {
			<-halfway
		}
		for alias := range servers { // forced refreshes: early revocation of one, expiry of the other
			servers[alias].Revoke("ann", false)
			expire(t, w, alias, "ben")
		}
		close(revoked)
		all.Wait()
		for alias, e := range servers {
			if shared := e.Shared(); len(shared) > 0 {
				t.Errorf("%s: sessions of several people: %v %v", alias, shared, e.People())
			}
			for _, r := range e.Requests() {
				if r.Header.Get("Authorization") == "" && r.Method != "" {
					t.Errorf("%s: %s without a token", alias, r.Method)
				}
			}
			if n := e.Refreshes("ann"); n == 0 || n > 2 {
				t.Errorf("%s: %d refreshes of ann", alias, n)
			}
			if n := e.Refreshes("cy"); n != 0 {
				t.Errorf("%s: %d refreshes of somebody who is not connected", alias, n)
			}
		}
	})
}

// expire sets the expiry of the access token of a person's account to now.
func expire(t *testing.T, w *world, alias, name string) {
	t.Helper()
	err := w.Services.DB.Model(&models.PersonalConnection{}).Where("server_id = ? AND user_id = ?", w.ids[alias], w.people[name]).
		UpdateColumns(map[string]any{"expires_at": time.Now().UTC().Add(-time.Minute)}).Error
	if err != nil {
		t.Fatal(err)
	}
}

// synced waits until every replica accepts the tokens and lists the tools of all servers.
func (w *world) synced(t *testing.T, replicas, tokens []string) {
	t.Helper()
	for i, base := range append(replicas, replicas...) {
		c := (&routestest.Client{Endpoint: base + "/v1/mcp/p/request", Token: tokens[i/2], Version: stateless}).Open(t)
		routestest.Eventually(t, "every tool is listed", func() bool {
			m, err := c.Send(t.Context(), "tools/list", `{}`)
			return err == nil && strings.Count(string(m.Result), `__whoami"`) == len(w.servers)
		})
	}
}

// sharer is one of a person's clients.
type sharer struct {
	name, alias string
	client      *routestest.Client
	server      *upstreamtest.EchoServer

	mu    sync.Mutex
	wrong []string
}

// note checks that notifications are the person's.
func (s *sharer) note(m routestest.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if strings.Contains(string(m.Params), "for ") && !strings.Contains(string(m.Params), "for "+s.name) {
		s.wrong = append(s.wrong, m.Method+string(m.Params))
	}
}

func (s *sharer) respond(m routestest.Message) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !strings.Contains(string(m.Params), "Are you "+s.name+"?") {
		s.wrong = append(s.wrong, m.Method+string(m.Params))
	}
	return `{"action":"accept","content":{"i":"` + s.name + `"}}`
}

// run sends a request of every method and checks whose token reached the server.
func (s *sharer) run(ctx context.Context, levels bool) error {
	name := s.alias + "__"
	requests := [][2]string{
		{"tools/list", `{}`}, {"prompts/list", `{}`}, {"resources/list", `{}`}, {"resources/templates/list", `{}`},
		{"tools/call", `{"name":"` + name + `whoami","arguments":{"for":"` + s.name + `"}}`},
		{"tools/call", `{"name":"gateway_executeTool","arguments":{"name":"` + name + `whoami","arguments":{"for":"` + s.name + `"}}}`},
		{"tools/call", `{"name":"` + name + `steps","arguments":{},"_meta":{"progressToken":"p-` + s.name + `"}}`},
		{"prompts/get", `{"name":"` + name + `who"}`},
		{"completion/complete", `{"ref":{"type":"ref/prompt","name":"` + name + `who"},"argument":{"name":"for","value":""}}`},
	}
	if levels && s.client.Version == handshake {
		requests = append(requests, [2]string{"logging/setLevel", `{"level":"debug"}`})
	}
	for _, r := range requests {
		m, err := s.client.Send(ctx, r[0], r[1])
		if err != nil {
			return err
		}
		if m.Result == nil {
			return fmt.Errorf("%s %s: %d %s%s", r[0], r[1], m.Status, m.Error, m.Body)
		}
		if r[0] == "logging/setLevel" || strings.HasSuffix(r[0], "/list") {
			continue
		}
		if err := s.own(m); err != nil {
			return fmt.Errorf("%s: %w", r[0], err)
		}
	}
	if err := s.elicit(ctx); err != nil {
		return fmt.Errorf("question: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.wrong) > 0 {
		return fmt.Errorf("received %v", s.wrong)
	}
	return nil
}

// own checks that a response reports the person.
func (s *sharer) own(m routestest.Message) error {
	at, err := reached(m)
	if err == nil && (at.Person != s.name || !strings.HasPrefix(at.Token, s.name+"-")) {
		err = fmt.Errorf("reached as %s with %s", at.Person, at.Token)
	}
	return err
}

// elicit calls the tool that elicits. Stateless clients respond with another request.
// Over HTTP+SSE, a question during several calls of a session is refused.
func (s *sharer) elicit(ctx context.Context) error {
	m, err := s.client.Call(ctx, s.alias+"__asks", `{}`)
	if err == nil && s.alias == "e0" && strings.Contains(textOf(m), "Several calls are in flight") {
		return s.own(m)
	}
	if err != nil || s.client.Version == handshake {
		return s.answered(m, err)
	}
	name, state := inputOf(m)
	if !strings.Contains(string(m.Result), "Are you "+s.name+"?") {
		return fmt.Errorf("got %s%s", m.Result, m.Error)
	}
	m, err = s.client.Send(ctx, "tools/call", `{"name":"`+s.alias+`__asks","arguments":{},"requestState":`+state+`,"inputResponses":{"`+name+`":{"action":"accept","content":{"i":"`+s.name+`"}}}}`)
	return s.answered(m, err)
}

func (s *sharer) answered(m routestest.Message, err error) error {
	if err == nil {
		err = s.own(m)
	}
	if err == nil && !strings.Contains(textOf(m), `"i":"`+s.name+`"`) {
		err = fmt.Errorf("the answer is another's: %s", textOf(m)[len(textOf(m))/2:])
	}
	return err
}
