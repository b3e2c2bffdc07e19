// Package connecting responds to calls to servers where every user has their own
// account and the caller's is not connected: it prompts the user to connect it,
// in the form that the client's protocol revision has, and continues the call
// afterwards.
package connecting

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/secrets"
	"mcpgateway/services/upstream"
)

const (
	// StateLifetime is the time for which a call can be continued.
	StateLifetime = 15 * time.Minute
	// waitTime is the maximum time for which a continued call waits for the
	// connection.
	waitTime = 55 * time.Second
	// idPrefix distinguishes the gateway's elicitations from those of servers.
	idPrefix = "connect-"
	// inputName is the name of the input request in input_required results.
	inputName = "connect"
)

// Connections returns what the calls of a user wait for. It must not block for
// long, because it is called for every list.
type Connections interface {
	Pending(ctx context.Context, server *models.Server, userID string) upstream.Pending
}

// Links returns the URL of the page where a user connects their account to a
// server. elicitationID may be empty.
type Links interface {
	Link(userID, serverID, elicitationID string) string
}

// Prompter returns the responses. It is safe for concurrent use.
type Prompter struct {
	connections Connections
	links       Links
	tokens      *secrets.KeyRing
	now         func() time.Time

	mu      sync.Mutex
	changes map[account]chan struct{} // closed by Changed
}

// account is a user's account at a server.
type account struct{ serverID, userID string }

// New returns a Prompter. tokens seals request states.
func New(connections Connections, links Links, tokens *secrets.KeyRing, now func() time.Time) *Prompter {
	return &Prompter{connections: connections, links: links, tokens: tokens, now: now, changes: map[account]chan struct{}{}}
}

// Call is a request of a user to a server.
type Call struct {
	Server    *models.Server
	UserID    string
	ProjectID string
	Caller    string // identifies the caller and the endpoint
	Method    string
	RequestID string
	// Params are those that the client sent, apart from the name of the tool or
	// prompt. Continue removes the members that continue a call.
	Params *rawjson.Object
	// Stateless reports whether the client uses revision 2026-07-28 or later.
	Stateless bool
	// URLErrors reports whether the client uses revision 2025-11-25, whose errors
	// can have URLs to open.
	URLErrors bool
	// Capabilities is the raw JSON object that the client declared, or nil.
	Capabilities []byte
}

// opensURLs reports whether the client declared that it opens URLs for the user
// (MCP 2025-11-25, "Elicitation").
func (c *Call) opensURLs() bool {
	declared, err := rawjson.ParseObject(c.Capabilities, rawjson.Lenient)
	return err == nil && declared.Object("elicitation").Get("url") != nil
}

// allowsInput reports whether the result of the method may require input (MCP
// 2026-07-28, "Multi Round-Trip Requests").
func (c *Call) allowsInput() bool {
	switch c.Method {
	case "tools/call", "prompts/get", "resources/read":
		return true
	}
	return false
}

// Response is the response to a call that was not sent. Exactly one member is
// set.
type Response struct {
	Result []byte // raw
	Error  []byte // a raw JSON-RPC error object with a URL elicitation
	Fault  *fault.Fault
}

// Prompt returns the response that prompts the user of the call to connect, in
// the first form that fits: an error with a URL, an input request, a failed tool
// result, or CONNECTION_REQUIRED with the member url of Fields.
func (p *Prompter) Prompt(c *Call) Response {
	switch {
	case c.Stateless && c.opensURLs() && c.allowsInput():
		return Response{Result: p.inputRequest(c)}
	case c.URLErrors && c.opensURLs():
		return Response{Error: p.urlError(c)}
	}
	return p.Decline(c)
}

// Decline is like Prompt for a client that can't or doesn't want to open the URL.
func (p *Prompter) Decline(c *Call) Response {
	link := p.links.Link(c.UserID, c.Server.ID, "")
	text := c.Server.Alias + " needs your account. Open " + link + ", connect and try again."
	if c.Method == "tools/call" {
		meta, _ := json.Marshal(map[string]any{"gateway/error": map[string]string{"code": string(fault.CodeConnectionRequired), "server": c.Server.Alias, "url": link}})
		result := append(rawjson.AppendString([]byte(`{"content":[{"type":"text","text":`), text), `}],"isError":true,"_meta":`...)
		return Response{Result: append(append(result, meta...), '}')}
	}
	f := upstream.ConnectionRequired(c.Server.Alias, upstream.ReasonNotConnected)
	f.Message, f.Fields = text, map[string]string{"url": link}
	return Response{Fault: f}
}

// urlError returns the error URLElicitationRequired (MCP 2025-11-25).
func (p *Prompter) urlError(c *Call) []byte {
	id := idPrefix + rand.Text()
	elicitation := map[string]string{"mode": "url", "elicitationId": id, "url": p.links.Link(c.UserID, c.Server.ID, id), "message": message(c)}
	raw, _ := json.Marshal(map[string]any{
		"code": upstream.CodeURLElicitationRequired, "message": message(c),
		"data": map[string]any{"elicitations": []any{elicitation}, "code": fault.CodeConnectionRequired, "restart": false, "requestId": c.RequestID},
	})
	return raw
}

// IsOwn reports whether an elicitation is one of Prompt.
func IsOwn(elicitationID string) bool { return strings.HasPrefix(elicitationID, idPrefix) }

// inputRequest returns a result that requires the client to open the URL.
func (p *Prompter) inputRequest(c *Call) []byte {
	params, _ := json.Marshal(map[string]string{"mode": "url", "url": p.links.Link(c.UserID, c.Server.ID, ""), "message": message(c)})
	result := append([]byte(`{"resultType":"input_required","inputRequests":{"`+inputName+`":{"method":"elicitation/create","params":`), params...)
	result = append(append(result, `}},"requestState":`...), rawjson.Quote(p.seal(c))...)
	return append(result, '}')
}

// message is the text for the URL.
func message(c *Call) string {
	return c.Server.Alias + " needs your account. Connect it, then continue."
}

// Wait waits until calls of the user need nothing more, for at most 55 seconds.
// It reports whether they can be sent, or returns the context's error.
func (p *Prompter) Wait(ctx context.Context, server *models.Server, userID string) (bool, error) {
	limited, cancel := context.WithTimeout(ctx, waitTime)
	defer cancel()
	for {
		changed := p.changed(account{server.ID, userID})
		if p.connections.Pending(ctx, server, userID).Code == "" {
			return true, nil
		}
		select {
		case <-changed:
		case <-limited.Done():
			return false, ctx.Err()
		}
	}
}

// changed returns a channel that is closed at the next change of an account.
func (p *Prompter) changed(of account) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.changes[of]
	if c == nil {
		c = make(chan struct{})
		p.changes[of] = c
	}
	return c
}

// Changed continues the calls that wait for a change of a user's connection.
func (p *Prompter) Changed(serverID, userID string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	of := account{serverID, userID}
	if c := p.changes[of]; c != nil {
		close(c)
		delete(p.changes, of)
	}
}
