package servers

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/services/declaration"
	views "mcpgateway/views/admin/servers"
	"mcpgateway/web"
)

// advancedOf returns the stored values of the less common credentials.
func advancedOf(s *models.Server) views.Advanced {
	a := views.Advanced{
		Grant: "authorization_code", ClientAuth: cmp.Or(string(s.OAuthClientAuth), string(models.ClientSecretBasic)),
		KeyID: s.OAuthKeyID, TokenURL: s.OAuthTokenURL, Audience: s.OAuthAudience, HasPrivateKey: s.OAuthPrivateKey != "",
	}
	if s.OAuthGrant != models.GrantCode {
		a.Grant = string(s.OAuthGrant)
	}
	a.Forward = forwardLines(s.ForwardHeaders)
	a.CA, a.Cert, a.HasTLSKey = s.TLSAuthority, s.TLSCert, s.TLSKey != ""
	if shownSecret(s.TLSKey) != "stored" {
		a.TLSKey = s.TLSKey
	}
	if shownSecret(s.OAuthPrivateKey) != "stored" {
		a.PrivateKey = s.OAuthPrivateKey
	}
	return a
}

// advancedTyped parses the less common credentials of the form into a declaration.
// Unchanged values are left out, so that another method can drop them.
func advancedTyped(c *fiber.Ctx, server *models.Server, d *declaration.Server) views.Advanced {
	text := func(name string) string { return strings.TrimSpace(web.FormValue(c, name)) }
	stored := advancedOf(server)
	a := views.Advanced{
		Grant: cmp.Or(text("oauth.grant"), stored.Grant), ClientAuth: cmp.Or(text("oauth.authMethod"), stored.ClientAuth),
		KeyID: text("oauth.keyId"), TokenURL: text("oauth.tokenUrl"), Audience: text("oauth.audience"),
	}
	d.OAuthKeyID, d.OAuthTokenURL, d.OAuthAudience = changedText(a.KeyID, stored.KeyID), changedText(a.TokenURL, stored.TokenURL), changedText(a.Audience, stored.Audience)
	d.OAuthGrant = new(models.GrantCode)
	if a.Grant != "authorization_code" && d.AuthType != nil && *d.AuthType == models.UpstreamAuthOAuth {
		d.OAuthGrant, d.OAuthClientAuth = new(models.OAuthGrantType(a.Grant)), new(models.ClientAuth(a.ClientAuth))
	}
	if key := typedPEM(c, "oauth.privateKey"); key != "" {
		d.OAuthPrivateKey = &key
	}
	a.Forward = strings.TrimSpace(web.FormValue(c, "forwardHeaders"))
	if declared := forwardTyped(a.Forward); !maps.Equal(declared, forwardTyped(stored.Forward)) {
		d.ForwardHeaders = declared
	}
	a.CA, a.Cert = typedPEM(c, "tls.ca"), typedPEM(c, "tls.cert")
	d.TLSAuthority, d.TLSCert = changedPEM(a.CA, stored.CA), changedPEM(a.Cert, stored.Cert)
	if key := typedPEM(c, "tls.key"); key != "" {
		d.TLSKey = &key
	} else if web.FormValue(c, "clearTLSKey") != "" {
		d.TLSKey = new("")
	}
	return a
}

// forwardLines returns forwarded headers as the lines of the form.
func forwardLines(headers models.StringMap) string {
	var lines []string
	for _, source := range slices.Sorted(maps.Keys(headers)) {
		if target := headers[source]; target != source {
			source += ": " + target
		}
		lines = append(lines, source)
	}
	return strings.Join(lines, "\n")
}

// forwardTyped parses the lines of forwarded headers. The last of equal names
// counts.
func forwardTyped(text string) map[string]string {
	headers := map[string]string{}
	for line := range strings.Lines(text) {
		source, target, _ := strings.Cut(line, ":")
		if source = strings.TrimSpace(source); source != "" || strings.TrimSpace(target) != "" {
			headers[source] = strings.TrimSpace(target)
		}
	}
	return headers
}

// changedPEM is like changedText for PEM texts, whose end may differ.
func changedPEM(entered, stored string) *string {
	if strings.TrimSpace(entered) == strings.TrimSpace(stored) {
		return nil
	}
	return &entered
}

// changedText returns an entered text that differs from the stored one, or nil.
func changedText(entered, stored string) *string {
	if entered == stored {
		return nil
	}
	return &entered
}

// typedPEM returns a posted PEM text with the line ends of files.
func typedPEM(c *fiber.Ctx, name string) string {
	text := strings.TrimSpace(strings.ReplaceAll(web.FormValue(c, name), "\r\n", "\n"))
	if strings.HasPrefix(text, "-----BEGIN") {
		text += "\n"
	}
	return text
}
