package servers

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/services/projects/programs"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/secrets"
	"mcpgateway/services/toolset"
	views "mcpgateway/views/admin/servers"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
	"mcpgateway/web"
)

// Show serves GET /admin/projects/:projectSlug/servers/:id.
func (a *Servers) Show(c *fiber.Ctx) error {
	p, server, err := a.pages.Server(c)
	if err != nil {
		return err
	}
	props, err := a.serverProps(c.UserContext(), p, server)
	if err != nil {
		return err
	}
	props.Frame = a.pages.ProjectFrame(c, p, layout.TabServers, server.Config.Alias, layout.Crumb{Label: server.Config.Alias})
	props.Live, props.Controls = []string{views.Topic + ":" + server.Config.ID}, props.Frame.Admin()
	props.Detail, props.Hidden, props.Addresses = detailOf(server), hiddenOf(p, server), addressesOf(p, server)
	props.Declared = programs.IsDeclared(&server.Config)
	props.Detail.Prompts, props.Detail.Resources = p.Offers.Of(server.Config.Alias)
	if learned := a.learned.Find(server.Config.ID); learned.Revision != "" {
		props.Detail.Learned = views.LearnedRevision{Revision: learned.Revision, Reason: learned.Reason, Since: learned.Since}
	}
	if props.People, err = a.people(c.UserContext(), &server.Config); err != nil {
		return err
	}
	return web.Render(c, views.Server(props))
}

// serverCrumbs returns the path to a page of a server.
func serverCrumbs(p *toolset.Snapshot, server *toolset.Server, page string) []layout.Crumb {
	return []layout.Crumb{{Label: server.Config.Alias, URL: paths.Server(p.Project.Slug, server.Config.ID)}, {Label: page}}
}

// head returns the heading of the pages of a server.
func (a *Servers) head(p *toolset.Snapshot, server *toolset.Server) views.Head {
	now := time.Now()
	return views.Head{Slug: p.Project.Slug, Now: now, Row: a.row(p, server, nil, now)}
}

// resultLimitWords describes a server's limit of results.
func resultLimitWords(s *models.Server) string {
	switch {
	case s.ResultLimit == nil:
		return "The project's limit"
	case *s.ResultLimit == 0:
		return "No limit"
	default:
		return ui.Count(int(*s.ResultLimit)) + " bytes"
	}
}

// detailOf returns the configuration of a server, without secrets, and what the
// server reports about itself.
func detailOf(s *toolset.Server) views.Detail {
	config := s.Config
	d := views.Detail{
		Transport: string(config.ShownTransport()), AuthType: string(config.AuthType), AuthBearer: shownSecret(config.AuthBearer),
		Headers: headersWithValue(config), MissingHeaders: missingHeaders(config), Timeout: ui.Seconds(config.TimeoutMS) + " s", TaskTimeout: ui.Seconds(config.TaskTimeoutMS) + " s", MaxConcurrent: ui.Count(int(config.MaxConcurrent)),
		ResultLimit:   resultLimitWords(&config),
		PinnedVersion: strings.TrimPrefix(config.ProtocolVersion, models.ProtocolAuto),
		SessionMode:   string(config.SessionMode), DefinitionPolicy: string(config.DefinitionPolicy),
		AllowedTools: config.AllowedTools, DenyTools: config.DenyTools,
		Personal: config.IsPersonal(), PersonalHeaders: config.PersonalHeaders,
		OAuthClientID: config.OAuthClientID, OAuthScope: strings.Join(config.OAuthScopes, " "),
		OwnClient: config.OAuthGrant == models.GrantClientCredentials,
	}
	if in := s.Inventory; in != nil {
		d.TransportUsed, d.ProtocolVersion, d.Instructions = string(in.TransportUsed), in.ProtocolVersion, in.Instructions
		d.Warnings, d.Implementation = slices.Clone(in.Warnings), implementation(in.ServerInfo)
	}
	for _, w := range s.OverrideWarnings {
		d.Warnings = append(d.Warnings, w.Message)
	}
	return d
}

// shownSecret returns the reference of a secret, "stored" for an encrypted secret,
// or "" for none. References are not secret.
func shownSecret(stored string) string {
	if _, isReference := secrets.Reference(stored); isReference || stored == "" {
		return stored
	}
	return "stored"
}

// implementation returns the name and version that a server reports.
func implementation(info string) string {
	o, err := rawjson.ParseObject([]byte(info), rawjson.Lenient)
	if err != nil {
		return ""
	}
	name, _ := o.String("name")
	version, _ := o.String("version")
	return strings.TrimSpace(name + " " + version)
}

// hiddenOf returns the reasons for which clients do not see tools of a server.
func hiddenOf(p *toolset.Snapshot, server *toolset.Server) []views.HiddenTool {
	counts := map[toolset.Hidden]int{}
	for _, t := range p.AllTools() {
		if t.Server == server && t.Hidden != toolset.Visible && t.Hidden != toolset.HiddenByServer {
			counts[t.Hidden]++
		}
	}
	var hidden []views.HiddenTool
	for _, reason := range slices.Sorted(maps.Keys(counts)) {
		hidden = append(hidden, views.HiddenTool{Reason: string(reason), Count: counts[reason], Reviewable: reason == toolset.HiddenByApproval})
	}
	return hidden
}

// addressesOf returns the URIs of a server that clients see with its alias.
func addressesOf(p *toolset.Snapshot, server *toolset.Server) []views.Address {
	all := p.Offers.Addressed(server.Config.Alias)
	shown := make([]views.Address, len(all))
	for i, a := range all {
		shown[i] = views.Address{Own: a.Own, Shown: a.Shown, Owner: a.Keeper}
	}
	return shown
}

// readSeconds parses a number of seconds and returns milliseconds.
func readSeconds(text string) (ms int64, ok bool) {
	d, err := time.ParseDuration(strings.TrimSpace(text) + "s")
	return d.Milliseconds(), err == nil
}
