// Package settings serves what concerns the whole gateway: its settings, its
// users, and the import and export of declarative files.
package settings

import (
	"net/netip"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/routes/frame"
	"mcpgateway/services/config"
	"mcpgateway/services/declaration"
	"mcpgateway/views/admin"
	"mcpgateway/views/layout"
	"mcpgateway/views/ui"
	"mcpgateway/web"
)

// staleAfter is how old the last news of changes may be before a page says so.
const staleAfter = 10 * time.Second

// Facts are what the settings page tells of the running program.
type Facts struct {
	Version  string
	Database string // its kind
	Config   *config.Config
	Fresh    func() time.Time // when this process last knew of every change
}

// Settings serves how the gateway is set up.
type Settings struct {
	pages *frame.Pages
	facts Facts
	now   func() time.Time
}

// New returns the handler.
func New(pages *frame.Pages, facts Facts, now func() time.Time) *Settings {
	return &Settings{pages: pages, facts: facts, now: now}
}

// Show serves GET /admin/settings. No secret is among what it shows.
func (s *Settings) Show(c *fiber.Ctx) error {
	now, fresh := s.now(), s.facts.Fresh()
	p := admin.SettingsProps{
		Frame: s.pages.Frame(c, "Settings", layout.SectionSettings), Fresh: now.Sub(fresh) < staleAfter, Since: ui.Ago(now, fresh),
		Groups: []admin.SettingsGroup{s.program(freshness(fresh, now)), s.signIn(), s.egress(), s.limits()},
	}
	return web.Render(c, admin.Settings(p))
}

// freshness says whether this process has heard of every change lately.
func freshness(fresh, now time.Time) string {
	if now.Sub(fresh) < staleAfter {
		return "Up to date"
	}
	return "Behind since " + ui.Ago(now, fresh)
}

func (s *Settings) program(state string) admin.SettingsGroup {
	return admin.SettingsGroup{Title: "This gateway", Facts: []ui.Fact{
		{Label: "Version", Value: s.facts.Version, Mono: true},
		{Label: "Public address", Value: s.facts.Config.PublicURL.String(), Mono: true},
		{Label: "Database", Value: s.facts.Database},
		{Label: "This replica", Value: state},
	}}
}

func (s *Settings) signIn() admin.SettingsGroup {
	facts := []ui.Fact{{Label: "Passwords", Value: "On"}, {Label: "Single sign-on", Value: "Off"}}
	if sso := s.facts.Config.SingleSignOn; sso.Configured() {
		facts[1] = ui.Fact{Label: "Single sign-on", Value: sso.Issuer, Mono: true}
		if len(sso.AllowedDomains) > 0 {
			facts = append(facts, ui.Fact{Label: "For addresses at", Value: strings.Join(sso.AllowedDomains, ", ")})
		}
	}
	return admin.SettingsGroup{Title: "Signing in", Facts: facts}
}

func (s *Settings) egress() admin.SettingsGroup {
	allowed := "Public addresses only"
	if prefixes := s.facts.Config.EgressAllow; len(prefixes) > 0 {
		allowed = "Public addresses, and " + prefixWords(prefixes)
	}
	return admin.SettingsGroup{Title: "Connections to servers", Lead: "Where the gateway may reach out to.", Facts: []ui.Fact{
		{Label: "Allowed", Value: allowed}, {Label: "Set by", Value: "GATEWAY_EGRESS_ALLOW", Mono: true},
	}}
}

func prefixWords(prefixes []netip.Prefix) string {
	words := make([]string, len(prefixes))
	for i, p := range prefixes {
		words[i] = p.String()
	}
	return strings.Join(words, ", ")
}

func (s *Settings) limits() admin.SettingsGroup {
	return admin.SettingsGroup{Title: "Limits", Facts: []ui.Fact{
		{Label: "Request body", Value: ui.Count(web.MaxBody>>10) + " KiB"},
		{Label: "Open streams", Value: ui.Count(s.facts.Config.MaxStreams)},
		{Label: "Time of one call", Value: ui.Count(declaration.MaxTimeoutMS/1000) + " s at most"},
		{Label: "Oldest state that keys are judged by", Value: s.facts.Config.MaxStaleness.String()},
	}}
}
