// Package refusals records the requests to project endpoints that were refused,
// and describes to the client doctor how its own requests arrived.
package refusals

import (
	"errors"
	"strings"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/services/doctor"
	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/toolset/views"
	"mcpgateway/web"
)

// Log stores refused requests. Implemented by refused.Log.
type Log interface {
	Record(row models.RefusedRequest)
}

// Views returns the endpoints of projects. Implemented by views.Views.
type Views interface {
	Endpoint(projectSlug, toolsetSlug string) (*views.Endpoint, error)
}

// Probes recognizes the requests of the client doctor. Implemented by
// doctor.Probes.
type Probes interface {
	Opens(token, projectID string) bool
	// Seen returns the value of the header that describes how a request arrived.
	Seen(s doctor.Seen) string
}

// Refusals watches the endpoints of projects.
type Refusals struct {
	log    Log
	views  Views
	probes Probes
	names  *web.HostPolicy
}

// New returns Refusals that record in log.
func New(log Log, views Views, probes Probes, names *web.HostPolicy) *Refusals {
	return &Refusals{log: log, views: views, probes: probes, names: names}
}

// Watch returns the handler of an endpoint that also records the requests that it
// refuses. It costs accepted requests nothing.
func (r *Refusals) Watch(endpoint fiber.Handler) fiber.Handler {
	return func(c *fiber.Ctx) error {
		err := endpoint(c)
		if err != nil || c.Response().StatusCode() >= fiber.StatusBadRequest {
			r.refused(c, err)
		}
		return err
	}
}

// refused records a request of an existing project. The doctor's own requests get
// a description instead.
func (r *Refusals) refused(c *fiber.Ctx, err error) {
	slug := c.Params("projectSlug")
	at, missing := r.views.Endpoint(slug, "")
	if missing != nil {
		return
	}
	project := at.Project()
	if token := c.Get(doctor.Header); token != "" && r.probes.Opens(token, project.ID) {
		c.Set(doctor.HeaderSeen, r.probes.Seen(r.seen(c)))
		return
	}
	row := models.RefusedRequest{
		ProjectID: project.ID, Method: c.Method(), Endpoint: endpointOf(c), Client: clientOf(c), Address: web.ClientIP(c), RequestID: web.EventOf(c).RequestID,
	}
	if err == nil {
		row.Status = int64(c.Response().StatusCode())
		row.Code, row.Reason = problemOf(c.Response().Body())
		if row.Status == fiber.StatusNotFound { // of a method that MCP 2026-07-28 doesn't have
			return
		}
		r.log.Record(row)
		return
	}
	f := faultOf(err)
	if f.Code == fault.CodeCancelled {
		return
	}
	row.Status, row.Code, row.Reason = int64(web.StatusOf(f)), string(f.Code), f.Message
	switch {
	case f.Code == fault.CodeUnauthorized:
		row.Reason = unauthorized(c.Get(fiber.HeaderAuthorization), project.AuthMode)
	case f.Kind == fault.KindNotFound && c.Params("toolset") != "":
		row.Reason = "The project has no toolset of this name, or the session has ended."
	}
	r.log.Record(row)
}

// faultOf returns the fault of a handler's error. The endpoints return Fiber's own
// errors only for a path that ends with a slash.
func faultOf(err error) *fault.Fault {
	var own *fiber.Error
	if errors.As(err, &own) {
		return fault.New(fault.KindNotFound, fault.CodeNotFound, "The URL ends with a slash. Remove it.")
	}
	return fault.From(err)
}

// unauthorized returns why credentials were refused, without any part of them.
func unauthorized(header string, mode models.AuthMode) string {
	token, isBearer := strings.CutPrefix(strings.ToLower(header), "bearer ")
	switch {
	case header == "" && mode == models.AuthOAuth:
		return "No access token. The client received the address to sign in at, which is the first step of every sign-in."
	case header == "":
		return "No Authorization header. The client has no key, or a proxy removed the header."
	case !isBearer:
		return "The Authorization header has another scheme than Bearer."
	case mode == models.AuthAPIKey && !strings.HasPrefix(strings.TrimSpace(token), "gwk_"):
		return "The token isn't an API key of this gateway. Keys begin with gwk_."
	case mode == models.AuthAPIKey:
		return "The key is unknown, expired, revoked, or of another project or toolset."
	default:
		return "The access token is unknown, expired, revoked, or of another project or toolset."
	}
}

// endpointOf returns the part of the path after the project, without the toolset,
// whose name the client chooses.
func endpointOf(c *fiber.Ctx) string {
	kind := "request"
	if strings.HasSuffix(strings.TrimSuffix(c.Path(), "/"), "/sse") {
		kind = "sse"
	}
	if c.Params("toolset") != "" {
		return "toolset " + kind
	}
	return kind
}

// maxInitialize is the maximum size in bytes of a body that is read for the name of
// the client.
const maxInitialize = 8 << 10

// clientOf returns the name and version that the client sent with initialize, or
// else its User-Agent.
func clientOf(c *fiber.Ctx) string {
	if body := c.BodyRaw(); len(body) > 0 && len(body) <= maxInitialize && len(c.Request().Header.Peek(fiber.HeaderContentEncoding)) == 0 {
		if message, err := rawjson.ParseObject(body, rawjson.Lenient); err == nil {
			if name := clientInfo(message); name != "" {
				return name
			}
		}
	}
	return c.Get(fiber.HeaderUserAgent)
}

func clientInfo(message *rawjson.Object) string {
	params, err := rawjson.ParseObject(message.Get("params"), rawjson.Lenient)
	if err != nil {
		return ""
	}
	info, err := rawjson.ParseObject(params.Get("clientInfo"), rawjson.Lenient)
	if err != nil {
		return ""
	}
	name, _ := info.String("name")
	version, _ := info.String("version")
	return strings.TrimSpace(name + " " + version)
}

// problemOf returns the code and the message of a JSON-RPC error response.
func problemOf(body []byte) (code, message string) {
	o, err := rawjson.ParseObject(body, rawjson.Lenient)
	if err != nil {
		return "", ""
	}
	problem, err := rawjson.ParseObject(o.Get("error"), rawjson.Lenient)
	if err != nil {
		return "", ""
	}
	message, _ = problem.String("message")
	if data, err := rawjson.ParseObject(problem.Get("data"), rawjson.Lenient); err == nil {
		code, _ = data.String("code")
	}
	return code, message
}

// seen describes how a request arrived.
func (r *Refusals) seen(c *fiber.Ctx) doctor.Seen {
	s := doctor.Seen{
		Host: string(c.Request().Host()), HostAllowed: r.names.CheckHost(c) == nil,
		Origin: c.Get(fiber.HeaderOrigin), OriginAllowed: r.names.CheckOrigin(c) == nil,
		Authorization: c.Get(fiber.HeaderAuthorization) != "",
		Peer:          web.PeerIP(c), Client: web.ClientIP(c), Trusted: web.FromTrustedProxy(c),
	}
	for _, name := range []string{fiber.HeaderXForwardedFor, fiber.HeaderForwarded, fiber.HeaderXForwardedHost, fiber.HeaderXForwardedProto, "X-Real-Ip", fiber.HeaderVia} {
		for _, value := range c.Request().Header.PeekAll(name) {
			s.Forwarded = append(s.Forwarded, doctor.ForwardedHeader{Name: name, Value: string(value)})
		}
	}
	return s
}
