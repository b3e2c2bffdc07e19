// Package settings serves the pages of the whole gateway: its settings, its users,
// and the import and export of declarative files.
package settings

import (
	"context"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/routes/frame"
	"mcpgateway/services/config"
	"mcpgateway/services/declaration"
	"mcpgateway/services/fault"
	"mcpgateway/views/admin"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
	"mcpgateway/web"
	"mcpgateway/web/guard"
)

// staleAfter is the age of the last received change feed state above which the page
// shows a warning.
const staleAfter = 10 * time.Second

// RuntimeInfo describes the running program.
type RuntimeInfo struct {
	Version  string
	Database string // its kind
	Config   *config.Config
	Fresh    func() time.Time // returns the last time at which this process was caught up
	// TestMail sends a test message to an address.
	TestMail func(ctx context.Context, to string) error
}

// Settings serves the page with the configuration of the gateway.
type Settings struct {
	pages *frame.Pages
	facts RuntimeInfo
	now   func() time.Time
}

// New returns the handler.
func New(pages *frame.Pages, facts RuntimeInfo, now func() time.Time) *Settings {
	return &Settings{pages: pages, facts: facts, now: now}
}

// Show serves GET /admin/settings. The page contains no secrets.
func (s *Settings) Show(c *fiber.Ctx) error {
	now, fresh := s.now(), s.facts.Fresh()
	p := admin.SettingsProps{
		Frame: s.pages.Frame(c, "Settings", layout.SectionSettings), Fresh: now.Sub(fresh) < staleAfter, Since: ui.Ago(now, fresh),
		Groups: []admin.SettingsGroup{s.program(freshness(fresh, now)), s.signIn(), s.egress(), s.limits()},
		Mail:   s.mail(), MailOn: !s.facts.Config.Mail.IsZero(),
	}
	return web.Render(c, admin.Settings(p))
}

// TestMail serves POST /admin/settings/test-mail: it sends a message to the
// signed-in user.
func (s *Settings) TestMail(c *fiber.Ctx) error {
	user := guard.UserOf(c)
	if user == nil || user.Email == "" {
		return frame.Failed(c, paths.Settings, fault.Conflict("Your account has no email address."))
	}
	if err := s.facts.TestMail(c.UserContext(), user.Email); err != nil {
		return frame.Failed(c, paths.Settings, err)
	}
	return frame.Done(c, paths.Settings, "Test message sent to "+user.Email+".")
}

func (s *Settings) mail() []ui.Fact {
	server := s.facts.Config.Mail
	if server.IsZero() {
		return []ui.Fact{{Label: "Server", Value: "None"}, {Label: "Set by", Value: "GATEWAY_SMTP_URL", Mono: true}}
	}
	to := "All administrators"
	if list := s.facts.Config.AlertEmail; len(list) > 0 {
		to = strings.Join(list, ", ")
	}
	return []ui.Fact{
		{Label: "Server", Value: net.JoinHostPort(server.Host, strconv.Itoa(server.Port)), Mono: true},
		{Label: "Sender", Value: server.From}, {Label: "Alerts go to", Value: to},
	}
}

// freshness describes whether this process is caught up with changes.
func freshness(fresh, now time.Time) string {
	if now.Sub(fresh) < staleAfter {
		return "Up to date"
	}
	return "Behind since " + ui.Ago(now, fresh)
}

func (s *Settings) program(state string) admin.SettingsGroup {
	return admin.SettingsGroup{Title: "This gateway", Facts: []ui.Fact{
		{Label: "Version", Value: s.facts.Version, Mono: true},
		{Label: "Public URL", Value: s.facts.Config.PublicURL.String(), Mono: true},
		{Label: "Database", Value: s.facts.Database},
		{Label: "This replica", Value: state},
	}}
}

func (s *Settings) signIn() admin.SettingsGroup {
	facts := []ui.Fact{{Label: "Passwords", Value: "On"}, {Label: "Single sign-on", Value: "Off"}}
	if sso := s.facts.Config.SingleSignOn; sso.Configured() {
		facts[1] = ui.Fact{Label: "Single sign-on", Value: sso.Issuer, Mono: true}
		if len(sso.AllowedDomains) > 0 {
			facts = append(facts, ui.Fact{Label: "Allowed email domains", Value: strings.Join(sso.AllowedDomains, ", ")})
		}
	}
	required := map[string]string{"off": "Not required", "admins": "Required for administrators", "everyone": "Required for everyone with a password"}
	facts = append(facts, ui.Fact{Label: "Second factor", Value: required[s.facts.Config.SecondFactor]})
	return admin.SettingsGroup{Title: "Sign-in", Facts: facts}
}

func (s *Settings) egress() admin.SettingsGroup {
	allowed := "Public addresses only"
	if prefixes := s.facts.Config.EgressAllow; len(prefixes) > 0 {
		allowed = "Public addresses, and " + prefixWords(prefixes)
	}
	return admin.SettingsGroup{Title: "Outbound access", Facts: []ui.Fact{
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
		{Label: "Maximum call time", Value: ui.Count(declaration.MaxTimeoutMS/1000) + " s"},
		{Label: "Maximum staleness for key checks", Value: durationWords(s.facts.Config.MaxStaleness)},
	}}
}

// durationWords returns a duration in its largest whole unit, such as "5 minutes".
func durationWords(d time.Duration) string {
	switch {
	case d >= time.Hour && d%time.Hour == 0:
		return ui.Plural(int(d/time.Hour), "hour", "hours")
	case d >= time.Minute && d%time.Minute == 0:
		return ui.Plural(int(d/time.Minute), "minute", "minutes")
	case d >= time.Second && d%time.Second == 0:
		return ui.Plural(int(d/time.Second), "second", "seconds")
	}
	return d.String()
}
