package admin

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/gateway"
	"mcpgateway/services/projects"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/toolset"
	views "mcpgateway/views/admin"
	"mcpgateway/views/install"
	"mcpgateway/views/layout"
	"mcpgateway/web"
)

// Endpoint answers as a project's endpoint does; gateway.Gateway says how.
type Endpoint interface {
	Handle(ctx context.Context, project *toolset.Snapshot, client *gateway.Client, method string, params []byte, trace *gateway.Trace) ([]byte, error)
}

// KeyLister lists the keys of a project; keys.Store says how.
type KeyLister interface {
	List(ctx context.Context, projectID string) ([]models.Key, error)
}

// Connect serves a project's first page: how clients connect.
type Connect struct {
	pages     *Pages
	directory ProjectDirectory
	health    HealthSource
	endpoint  Endpoint
	keys      KeyLister
	public    *url.URL
}

// NewConnect returns the handler. public is the origin of the endpoints.
func NewConnect(pages *Pages, directory ProjectDirectory, health HealthSource, endpoint Endpoint, keys KeyLister, public *url.URL) *Connect {
	return &Connect{pages: pages, directory: directory, health: health, endpoint: endpoint, keys: keys, public: public}
}

// Show serves GET /admin/projects/:projectSlug; ?check=1 asks the endpoint
// what a client asks first.
func (a *Connect) Show(c *fiber.Ctx) error {
	p, err := a.directory.Project(c.Params("projectSlug"))
	if err != nil {
		return err
	}
	usable, err := a.usableKeys(c.UserContext(), p.Project.ID)
	if err != nil {
		return err
	}
	base := a.public.JoinPath("/v1/mcp", p.Project.Slug).String()
	shared, _ := projects.Shared(p.Project, rowsOf(p.Servers))
	props := views.ConnectProps{
		Frame: a.pages.Frame(c, title(p, "Connect"), layout.SectionProjects), Project: headOf(p, a.health, layout.TabConnect),
		Description: p.Project.Description, Endpoint: base + "/request", Stream: base + "/sse",
		Snippets: remote(p, base+"/request").Tabs(), Shared: shared.Servers, Servers: len(p.Servers), Tools: len(p.Tools), Keys: usable,
	}
	if c.Query("check") != "" {
		props.Steps = a.check(c.UserContext(), p)
	}
	return web.Render(c, views.Connect(props))
}

// title returns the title of a project's page.
func title(p *toolset.Snapshot, page string) string {
	if p.Project.Name == "" {
		return p.Project.Slug + ": " + page
	}
	return p.Project.Name + ": " + page
}

// remote returns the endpoint as clients set it up.
func remote(p *toolset.Snapshot, endpoint string) install.Remote {
	r := install.Remote{Name: p.Project.Slug, URL: endpoint, OAuth: p.Project.AuthMode == models.AuthOAuth}
	if p.Project.AuthMode == models.AuthAPIKey {
		r.Key = "Bearer API_KEY"
	}
	return r
}

func (a *Connect) usableKeys(ctx context.Context, projectID string) (usable int, err error) {
	keys, err := a.keys.List(ctx, projectID)
	for _, k := range keys {
		if k.RevokedAt == nil && (k.ExpiresAt == nil || k.ExpiresAt.After(time.Now())) {
			usable++
		}
	}
	return usable, err
}

// Bounds of a check.
const (
	checkTimeout  = 10 * time.Second
	maxCheckPages = 100
)

// check asks the endpoint of a project what a client asks first, and tells how
// its servers are.
func (a *Connect) check(ctx context.Context, p *toolset.Snapshot) []views.CheckStep {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	client := &gateway.Client{Version: gateway.VersionLatestHandshake}
	hello := []byte(`{"protocolVersion":"` + gateway.VersionLatestHandshake + `","capabilities":{},"clientInfo":{"name":"check","version":"1"}}`)
	steps := []views.CheckStep{timed("initialize", func() (string, error) {
		_, err := a.endpoint.Handle(ctx, p, client, "initialize", hello, nil)
		return "", err
	})}
	if steps[0].OK {
		steps = append(steps, timed("tools/list", func() (string, error) {
			n, err := a.countTools(ctx, p, client)
			return fmt.Sprintf("%d tools, the built-in ones included", n), err
		}))
	}
	for _, server := range p.Servers {
		state, problem := stateOf(server, a.health)
		switch state.Kind {
		case views.StateOff:
		case views.StateOK:
			steps = append(steps, views.CheckStep{Name: server.Config.Alias, OK: true})
		default:
			if problem == "" {
				problem = "Its tools have not been read yet"
			}
			steps = append(steps, views.CheckStep{Name: server.Config.Alias, Reason: problem, URL: serverPath(p.Project.Slug, server.Config.ID)})
		}
	}
	return steps
}

// timed carries out a step of a check.
func timed(name string, do func() (string, error)) views.CheckStep {
	start := time.Now()
	found, err := do()
	step := views.CheckStep{Name: name, OK: err == nil, MS: time.Since(start).Milliseconds(), Timed: true, Reason: found}
	if err != nil {
		step.Reason = fault.From(err).Message
	}
	return step
}

// countTools returns how many tools a client is told of.
func (a *Connect) countTools(ctx context.Context, p *toolset.Snapshot, client *gateway.Client) (n int, err error) {
	params := []byte("{}")
	for range maxCheckPages {
		answer, err := a.endpoint.Handle(ctx, p, client, "tools/list", params, nil)
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
