// Package mcp serves the project endpoints: /v1/mcp/:projectSlug/*.
package mcp

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/services/access"
	"mcpgateway/services/fault"
	"mcpgateway/services/gateway"
	"mcpgateway/services/toolset"
	"mcpgateway/web"
)

// Projects finds the snapshot of a project.
type Projects interface {
	Project(slug string) (*toolset.Snapshot, error)
}

// Authenticator proves the callers of a project.
type Authenticator interface {
	Authenticate(project *models.Project, authorization string) (access.Principal, error)
}

// Limiter says whether a caller may make so many tools/call now.
type Limiter interface {
	Allow(project *models.Project, principal access.Principal, calls int) error
}

// Endpoint serves the JSON-RPC endpoint of every project.
type Endpoint struct {
	projects Projects
	auth     Authenticator
	gateway  *gateway.Gateway
	sessions *Sessions
	names    *web.Names
	limits   Limiter
}

// NewEndpoint returns the endpoint.
func NewEndpoint(projects Projects, auth Authenticator, g *gateway.Gateway, sessions *Sessions, names *web.Names, limits Limiter) *Endpoint {
	return &Endpoint{projects: projects, auth: auth, gateway: g, sessions: sessions, names: names, limits: limits}
}

// Request serves /v1/mcp/:projectSlug/request (specification, "JSON-RPC
// endpoint") for plain JSON clients and every revision of Streamable HTTP. The
// checks are made in the order of the contract.
func (e *Endpoint) Request(c *fiber.Ctx) error {
	project, principal, err := e.admit(c)
	if err != nil {
		return err
	}
	if c.Method() != fiber.MethodPost {
		c.Set(fiber.HeaderAllow, fiber.MethodPost)
		return fault.New(fault.KindMethodNotAllowed, fault.CodeMethodNotAllowed, "send JSON-RPC requests with POST")
	}
	body, err := web.JSONBody(c)
	if err != nil {
		return err
	}
	messages, batch, problem := parseBody(body)
	if problem != nil {
		return problem.answer(c)
	}
	return e.answer(c, project, principal, messages, batch)
}

// admit makes the checks that come before a request is read.
func (e *Endpoint) admit(c *fiber.Ctx) (*toolset.Snapshot, access.Principal, error) {
	slug := c.Params("projectSlug")
	project, err := e.projects.Project(slug)
	if err != nil {
		return nil, access.Principal{}, err
	}
	web.EventOf(c).Project = slug
	if err := e.names.CheckHost(c); err != nil {
		return nil, access.Principal{}, err
	}
	if err := e.names.CheckOrigin(c); err != nil {
		return nil, access.Principal{}, err
	}
	principal, err := e.auth.Authenticate(&project.Project, c.Get(fiber.HeaderAuthorization))
	if err == nil && !principal.Known() {
		err = fault.Unauthorized()
	}
	if err != nil {
		c.Set(fiber.HeaderWWWAuthenticate, `Bearer realm="gateway"`)
		return nil, access.Principal{}, err
	}
	return project, principal, nil
}

func (e *Endpoint) answer(c *fiber.Ctx, project *toolset.Snapshot, principal access.Principal, messages []*message, batch bool) error {
	client, problem, err := e.client(c, project, principal, messages, batch)
	if err != nil {
		return err
	}
	if problem != nil {
		return problem.answer(c)
	}
	if err := e.allow(project, client, messages); err != nil {
		return err
	}
	if batch {
		return e.answerBatch(c, project, client, messages)
	}
	m := messages[0]
	if m.err != nil {
		return m.err.answer(c)
	}
	if !m.isRequest() {
		return accepted(c)
	}
	event := web.EventOf(c)
	event.Method = m.method
	var trace gateway.Trace
	result, err := e.handle(c.UserContext(), project, client, m, &trace)
	event.Tool, event.Upstream = trace.Tool, trace.Server
	if err != nil {
		event.Fault(err)
		return errorAnswer(err, client, m.id).answer(c)
	}
	if m.method == "initialize" {
		id, err := e.sessions.Mint(project.Project.ID, principal, gateway.NegotiatedVersion(m.params))
		if err != nil {
			return err
		}
		c.Set(HeaderSession, id)
	}
	c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
	return c.Send(appendResult(nil, m.id, result))
}

// accepted answers what needs no answer: 202 without a body.
func accepted(c *fiber.Ctx) error {
	c.Status(fiber.StatusAccepted)
	return nil
}

// handle answers one request; a panic in it becomes its error, so that it
// ends neither the process nor the other requests of a batch.
func (e *Endpoint) handle(ctx context.Context, project *toolset.Snapshot, client *gateway.Client, m *message, trace *gateway.Trace) (result []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fault.Internal(fmt.Errorf("panic: %v\n%s", r, debug.Stack()))
		}
	}()
	return e.gateway.Handle(ctx, project, client, m.method, m.params, trace)
}

// allow asks the limiter for the tool calls among the messages.
func (e *Endpoint) allow(project *toolset.Snapshot, client *gateway.Client, messages []*message) error {
	calls := 0
	for _, m := range messages {
		if m.isRequest() && m.method == "tools/call" {
			calls++
		}
	}
	if calls == 0 {
		return nil
	}
	return e.limits.Allow(&project.Project, client.Principal, calls)
}
