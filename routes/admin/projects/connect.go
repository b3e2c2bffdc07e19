package projects

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"mcpgateway/services/access/keys"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/routes/admin"
	"mcpgateway/services/fault"
	"mcpgateway/services/gateway"
	"mcpgateway/services/projects"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/toolset"
	views "mcpgateway/views/admin"
	"mcpgateway/views/install"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/web"
)

// ConnectOptions are the dependencies of Connect. All are required.
type ConnectOptions struct {
	Pages     *admin.ProjectPages
	Gateway   *gateway.Gateway
	Keys      *keys.Store
	Doctor    DoctorRunner
	Refused   RefusedLog
	Endpoints Endpoints
	Public    *url.URL // origin of the endpoints
}

// Connect serves how clients connect to a project.
type Connect struct{ ConnectOptions }

// NewConnect returns the handler.
func NewConnect(o ConnectOptions) *Connect { return &Connect{o} }

// Show serves GET /admin/projects/:projectSlug/connect. ?check=1 also tests the
// endpoint.
func (a *Connect) Show(c *fiber.Ctx) error {
	p, err := a.Pages.Project(c)
	if err != nil {
		return err
	}
	return a.page(c, p, func(props *views.ConnectProps) {
		if c.Query("check") != "" {
			props.Steps = a.check(c.UserContext(), p)
		}
	})
}

// page renders the page of a project after fill has completed it.
func (a *Connect) page(c *fiber.Ctx, p *toolset.Snapshot, fill func(*views.ConnectProps)) error {
	usable, err := a.usableKeys(c.UserContext(), p.Project.ID)
	if err != nil {
		return err
	}
	props := connectProps(p, a.Public.JoinPath("/v1/mcp", p.Project.Slug).String())
	props.Frame, props.Project, props.Keys = a.Pages.ProjectFrame(c, p, layout.TabConnect, "Connect"), a.Pages.Head(p, layout.TabConnect), usable
	admin.ChooseClient(c, props.Snippets)
	if err := a.diagnosis(c, p, &props); err != nil {
		return err
	}
	fill(&props)
	return web.Render(c, views.Connect(props))
}

// connectProps returns the client configuration of a project whose endpoints are
// below base.
func connectProps(p *toolset.Snapshot, base string) views.ConnectProps {
	shared, _ := projects.Shared(p.Project, rowsOf(p.Servers))
	return views.ConnectProps{
		Description: p.Project.Description, Endpoint: base + "/request", Stream: base + "/sse",
		Snippets: remote(p, base+"/request").Tabs(), Shared: shared.Servers, Servers: len(p.Servers), Tools: len(p.Tools),
	}
}

// remote returns the endpoint for client snippets.
func remote(p *toolset.Snapshot, endpoint string) install.Remote {
	r := install.Remote{Name: p.Project.Slug, URL: endpoint, OAuth: p.Project.AuthMode == models.AuthOAuth}
	if p.Project.AuthMode == models.AuthAPIKey {
		r.Key = "Bearer API_KEY"
	}
	return r
}

func (a *Connect) usableKeys(ctx context.Context, projectID string) (usable int, err error) {
	keys, err := a.Keys.List(ctx, projectID)
	for _, k := range keys {
		if k.RevokedAt == nil && (k.ExpiresAt == nil || k.ExpiresAt.After(time.Now())) {
			usable++
		}
	}
	return usable, err
}

// Limits of an endpoint test.
const (
	checkTimeout  = 10 * time.Second
	maxCheckPages = 100
)

// check sends initialize and tools/list to the endpoint of a project. It returns
// the results and the states of the servers.
func (a *Connect) check(ctx context.Context, p *toolset.Snapshot) []views.CheckStep {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	client := &gateway.Client{Version: gateway.VersionLatestHandshake}
	hello := []byte(`{"protocolVersion":"` + gateway.VersionLatestHandshake + `","capabilities":{},"clientInfo":{"name":"check","version":"1"}}`)
	steps := []views.CheckStep{timed("initialize", func() (string, error) {
		_, err := a.Gateway.Handle(ctx, p, client, "initialize", hello, nil)
		return "", err
	})}
	if steps[0].OK {
		steps = append(steps, timed("tools/list", func() (string, error) {
			n, err := a.countTools(ctx, p, client)
			return fmt.Sprintf("%d tools, including built-in ones", n), err
		}))
	}
	for _, server := range p.Servers {
		state, problem := a.Pages.Health.StateOf(server)
		switch state.Kind {
		case views.StateOff:
		case views.StateOK:
			steps = append(steps, views.CheckStep{Name: server.Config.Alias, OK: true})
		default:
			if problem == "" {
				problem = "Its tools haven't been read yet."
			}
			steps = append(steps, views.CheckStep{Name: server.Config.Alias, Reason: problem, URL: paths.Server(p.Project.Slug, server.Config.ID)})
		}
	}
	return steps
}

// timed runs a step of an endpoint test and measures its duration.
func timed(name string, do func() (string, error)) views.CheckStep {
	start := time.Now()
	found, err := do()
	step := views.CheckStep{Name: name, OK: err == nil, MS: time.Since(start).Milliseconds(), Timed: true, Reason: found}
	if err != nil {
		step.Reason = fault.From(err).Message
	}
	return step
}

// countTools returns the number of tools in tools/list.
func (a *Connect) countTools(ctx context.Context, p *toolset.Snapshot, client *gateway.Client) (n int, err error) {
	params := []byte("{}")
	for range maxCheckPages {
		answer, err := a.Gateway.Handle(ctx, p, client, "tools/list", params, nil)
		if err != nil {
			return n, err
		}
		o, err := rawjson.ParseObject(answer, rawjson.Lenient)
		if err != nil {
			return n, fault.Internal(err)
		}
		tools, err := rawjson.Elements(o.Get("tools"), rawjson.Lenient)
		if err != nil {
			return n, fault.Internal(err)
		}
		n += len(tools)
		next, more := o.String("nextCursor")
		if !more {
			break
		}
		params = append(rawjson.AppendString([]byte(`{"cursor":`), next), '}')
	}
	return n, nil
}
