package projects

import (
	"maps"
	"slices"

	"mcpgateway/models"
	"mcpgateway/services/declaration"
	"mcpgateway/services/projects/outbound"
)

// PrivateKeyRow identifies the sealed private key of a server's client
// credentials.
func PrivateKeyRow(serverID string) string { return "servers/" + serverID + "/oauth_private_key" }

// mergeOAuth applies the declared fields of OAuth.
func (s *Store) mergeOAuth(m *merge, row *models.Server, d *declaration.Server) {
	set(&m.changed, "oauth.clientId", &row.OAuthClientID, d.OAuthClientID)
	if d.OAuthScopes != nil {
		setList(&m.changed, "oauth.scopes", &row.OAuthScopes, *d.OAuthScopes)
	}
	secret, key, tokenURL := row.OAuthClientSecret, row.OAuthPrivateKey, row.OAuthTokenURL
	m.changed = append(m.changed, outbound.MergeOAuth(row, d)...)
	s.setSecret(m, "oauth.clientSecret", &row.OAuthClientSecret, d.OAuthClientSecret, ClientSecretRow(row.ID))
	s.setChecked(m, "oauth.privateKey", &row.OAuthPrivateKey, d.OAuthPrivateKey, PrivateKeyRow(row.ID), s.checkPEM(PrivateKeyRow(row.ID), outbound.SigningKeyProblem))
	maps.Copy(m.problems, outbound.CheckOAuth(row, s.checkURL))
	kept := secret != "" && row.OAuthClientSecret == secret || key != "" && row.OAuthPrivateKey == key
	if kept && !m.may.everything && tokenURL != row.OAuthTokenURL && originOf(tokenURL) != originOf(row.OAuthTokenURL) {
		m.problems["oauth.tokenUrl"] = "the stored secret is not sent to another origin: enter it again"
	}
	if missing := missingClientSecret(row); missing != "" && !slices.Contains(m.missing, missing) {
		m.missing = append(m.missing, missing)
	}
}

// missingClientSecret returns the field of the secret that a server's client
// credentials require and that isn't stored, or "".
func missingClientSecret(row *models.Server) string {
	switch {
	case row.OAuthGrant != models.GrantClientCredentials:
	case row.OAuthClientAuth == models.PrivateKeyJWT && row.OAuthPrivateKey == "":
		return "oauth.privateKey"
	case row.OAuthClientAuth != models.PrivateKeyJWT && row.OAuthClientSecret == "":
		return "oauth.clientSecret"
	}
	return ""
}

// checkPEM returns the check of a PEM text for the row. The targets of references
// are checked if they are available.
func (s *Store) checkPEM(row string, check func(text string) string) func(string) string {
	return func(text string) string {
		if text == "" {
			return ""
		}
		if isReference(text) {
			v, err := s.secrets.Resolve(text, row)
			if err != nil {
				return ""
			}
			text = v.Reveal()
		}
		return check(text)
	}
}

// oauthFile returns the exported OAuth settings of a server. A secret that its
// client credentials require is shown as missing if it is absent.
func oauthFile(server models.Server) *exportOAuth {
	o := &exportOAuth{
		ClientID: server.OAuthClientID, ClientSecret: secretShown(server.OAuthClientSecret), Scopes: list(server.OAuthScopes),
		Grant: server.OAuthGrant, AuthMethod: server.OAuthClientAuth, PrivateKey: secretShown(server.OAuthPrivateKey),
		KeyID: server.OAuthKeyID, TokenURL: server.OAuthTokenURL, Audience: server.OAuthAudience,
	}
	switch missingClientSecret(&server) {
	case "oauth.privateKey":
		o.PrivateKey = shown("")
	case "oauth.clientSecret":
		o.ClientSecret = shown("")
	}
	return o
}

// mergeForwarded applies the declared headers to forward. They replace the stored
// ones.
func mergeForwarded(m *merge, row *models.Server, d *declaration.Server) {
	if d.ForwardHeaders != nil {
		stored, problems := outbound.Forwarded(d.ForwardHeaders)
		maps.Copy(m.problems, problems)
		if len(problems) == 0 && !maps.Equal(row.ForwardHeaders, stored) {
			row.ForwardHeaders = stored
			m.changed = append(m.changed, "forwardHeaders")
		}
	}
	maps.Copy(m.problems, outbound.CheckForwarded(row))
}

// forwardFile returns the exported headers to forward. An empty name means the same
// one.
func forwardFile(server models.Server) map[string]string {
	file := map[string]string{}
	for source, target := range server.ForwardHeaders {
		if target == source {
			target = ""
		}
		file[source] = target
	}
	return file
}
