package upstreamtest

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"mcpgateway/services/rawjson"
)

// EchoServer is a server where every person has their own account. Each result
// contains a Reached, which describes the request that reached the server. It is
// its own authorization server, where people authorize clients without a page:
// the parameter person of the authorization URL names who does.
type EchoServer struct {
	*Server
	URL string // of the endpoint

	mu      sync.Mutex
	life    time.Duration // of access tokens
	issued  map[string]int
	tokens  map[string]*echoToken // access and refresh tokens ever issued, by text
	codes   map[string]map[string]string
	refresh []string // who refreshed, in order
	revoked int      // tokens revoked by the gateway
}

// echoToken is a token of the authorization server.
type echoToken struct {
	name   string // for example ann-2
	person string
	kind   string // access or refresh
	valid  bool
}

// Reached describes a request that reached an EchoServer.
type Reached struct {
	Era     Era         `json:"era"`
	Method  string      `json:"method"`
	Person  string      `json:"person"`  // owner of the token; empty without one
	Token   string      `json:"token"`   // name of the token, not its text
	Session string      `json:"session"` // empty in the stateless era
	Header  http.Header `json:"header"`  // without Authorization
}

// echoTools are the definitions of the tools of an EchoServer.
var echoTools = map[string]string{
	"whoami": `{"name":"whoami","description":"Returns who the request came from.","inputSchema":{"type":"object","properties":{"for":{"type":"string"}}},"annotations":{"readOnlyHint":true}}`,
	"steps":  `{"name":"steps","description":"Reports progress and logs, and returns who the request came from.","inputSchema":{"type":"object","properties":{"for":{"type":"string"}}}}`,
	"asks":   `{"name":"asks","description":"Asks the client a question, and returns who the answer came from.","inputSchema":{"type":"object","properties":{"for":{"type":"string"}}}}`,
	"waits":  `{"name":"waits","description":"Waits until it is cancelled.","inputSchema":{"type":"object","properties":{"for":{"type":"string"}}}}`,
}

// NewEchoServer returns an EchoServer that supports the eras, or every era
// without any. Serve it with Start.
func NewEchoServer(eras ...Era) *EchoServer {
	e := &EchoServer{life: time.Hour, issued: map[string]int{}, tokens: map[string]*echoToken{}, codes: map[string]map[string]string{}}
	o := Options{
		Name: "echo", Eras: eras, Record: 100_000, Authorize: e.isAuthorized, Methods: map[string]Handler{},
		Capabilities: `{"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"completions":{},"logging":{}}`,
	}
	for method, result := range map[string]string{
		"prompts/list":             `{"prompts":[{"name":"who","description":"Returns who the request came from.","arguments":[{"name":"for"}]}]}`,
		"resources/list":           `{"resources":[{"uri":"echo://who","name":"who"}]}`,
		"resources/templates/list": `{"resourceTemplates":[{"uriTemplate":"echo://who/{id}","name":"anybody"}]}`,
		"resources/subscribe":      `{}`, "resources/unsubscribe": `{}`, "logging/setLevel": `{}`,
	} {
		o.Methods[method] = func(context.Context, *Call) Result { return JSON(result) }
	}
	for method, around := range map[string][2]string{
		"prompts/get":         {`{"messages":[{"role":"user","content":{"type":"text","text":`, `}}]}`},
		"resources/read":      {`{"contents":[{"uri":"echo://who","text":`, `}]}`},
		"completion/complete": {`{"completion":{"values":[`, `]}}`},
	} {
		o.Methods[method] = func(_ context.Context, c *Call) Result {
			return JSON(around[0] + string(rawjson.Quote(e.report(c))) + around[1])
		}
	}
	calls := map[string]Handler{"whoami": e.whoami, "steps": e.steps, "asks": e.elicits, "waits": e.waits}
	for _, name := range []string{"whoami", "steps", "asks", "waits"} {
		o.Tools = append(o.Tools, Tool{Definition: echoTools[name], Call: calls[name]})
	}
	e.Server = New(o)
	return e
}

// Start serves on a free port of 127.0.0.1 until the test ends and returns the
// endpoint's URL.
func (e *EchoServer) Start(tb TB) string {
	tb.Helper()
	ln, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatalf("starting the echo server: %v", err)
	}
	e.URL = "http://" + ln.Addr().String() + e.opts.Path
	e.opts.Challenge = `Bearer resource_metadata="` + e.origin() + `/.well-known/oauth-protected-resource"`
	if _, err = e.Serve(context.Background(), ln, e); err != nil {
		tb.Fatalf("starting the echo server: %v", err)
	}
	tb.Cleanup(e.Close)
	return e.URL
}

// personKey is the key of the person of a request in its context.
type personKey struct{}

// ServeHTTP handles requests to the endpoint and to the authorization server.
func (e *EchoServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != e.opts.Path {
		e.serveAuthorization(w, r)
		return
	}
	t, _ := e.tokenOf(r.Header)
	e.Server.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), personKey{}, t.person)))
}

func (e *EchoServer) isAuthorized(r *http.Request) bool {
	_, valid := e.tokenOf(r.Header)
	return valid
}

// tokenOf returns the token of a request, also one that is no longer valid.
func (e *EchoServer) tokenOf(h http.Header) (t echoToken, valid bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if known := e.tokens[strings.TrimPrefix(h.Get("Authorization"), "Bearer ")]; known != nil && known.kind == "access" {
		return *known, known.valid
	}
	return echoToken{}, false
}

// report returns the Reached of a call as JSON.
func (e *EchoServer) report(c *Call) string {
	t, _ := e.tokenOf(c.Header)
	at := Reached{Era: c.Era, Method: c.Method, Person: t.person, Token: t.name, Session: c.Session, Header: c.Header.Clone()}
	at.Header.Del("Authorization")
	raw, _ := json.Marshal(at) // text only
	return string(raw)
}

func (e *EchoServer) whoami(_ context.Context, c *Call) Result { return Text(e.report(c)) }

func (e *EchoServer) steps(_ context.Context, c *Call) Result {
	t, _ := e.tokenOf(c.Header)
	_ = c.Progress(1, 2, "for "+t.person)                                                            // without a token there is none
	_ = c.Notify("notifications/message", []byte(`{"level":"error","data":"log for `+t.person+`"}`)) // the client may be gone
	return Text(e.report(c))
}

// elicits sends a request that names the person to the client, and returns the
// report and the client's response.
func (e *EchoServer) elicits(ctx context.Context, c *Call) Result {
	t, _ := e.tokenOf(c.Header)
	params := []byte(`{"message":"Are you ` + t.person + `?","requestedSchema":{"type":"object","properties":{}}}`)
	if !c.Era.Stateless() {
		answer, err := c.Request(ctx, "elicitation/create", params)
		if err != nil {
			return Failure(err.Error())
		}
		return Text(e.report(c) + "\n" + string(answer))
	}
	if answers := c.params.Get("inputResponses"); answers != nil {
		return Text(e.report(c) + "\n" + string(answers))
	}
	return JSON(`{"resultType":"input_required","inputRequests":{"who":{"method":"elicitation/create","params":` + string(params) + `}},"requestState":"state of ` + t.person + `"}`)
}

func (e *EchoServer) waits(ctx context.Context, _ *Call) Result {
	<-ctx.Done()
	return Failure("cancelled")
}

// Update sends notifications/resources/updated on the open streams of a person
// and returns their number.
func (e *EchoServer) Update(person, uri string) int {
	of := func(t *stream) bool { return t.gone.Value(personKey{}) == person }
	return e.notify(of, "notifications/resources/updated", append(rawjson.AppendString([]byte(`{"uri":`), uri), '}'))
}

// StreamsOf returns the number of a person's open streams.
func (e *EchoServer) StreamsOf(person string) (n int) {
	e.Server.mu.Lock()
	defer e.Server.mu.Unlock()
	for t := range e.streams {
		if t.gone.Value(personKey{}) == person {
			n++
		}
	}
	return n
}

// ReachedBy returns the recorded requests of a person.
func (e *EchoServer) ReachedBy(person string) []Recorded {
	var of []Recorded
	for _, r := range e.Requests() {
		if t, _ := e.tokenOf(r.Header); t.person == person {
			of = append(of, r)
		}
	}
	return of
}

// People returns who used each session: more than one person is a fault of the
// client. Requests without a token are left out: a session may be deleted after
// its person disconnected.
func (e *EchoServer) People() map[string][]string {
	seen := map[string]map[string]bool{}
	for _, r := range e.Requests() {
		id := r.Header.Get("Mcp-Session-Id") + r.Query.Get("sessionId")
		t, _ := e.tokenOf(r.Header)
		if id == "" || t.person == "" {
			continue
		}
		if seen[id] == nil {
			seen[id] = map[string]bool{}
		}
		seen[id][t.person] = true
	}
	people := map[string][]string{}
	for id, persons := range seen {
		for person := range persons {
			people[id] = append(people[id], person)
		}
	}
	return people
}
