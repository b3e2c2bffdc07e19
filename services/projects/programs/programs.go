// Package programs applies declarations to servers that come from the file of a
// runner: programs, and the servers with a URL next to them.
package programs

import (
	"slices"

	"mcpgateway/models"
	"mcpgateway/services/declaration"
)

// FromFile is the problem of a field that the runner's file decides.
const FromFile = "comes from its runner's file"

// Open is the problem of a project without authentication that has programs, on a
// gateway that other machines can reach.
const Open = "the project has local servers, and this gateway can be reached from other machines: choose api_key or oauth"

// Taken is the problem of an alias that another server has.
const Taken = "the project already has a server with this alias that is not from this file: delete or rename it"

// Absent is the problem of a new server without a URL. An export has such settings
// of programs.
const Absent = `this key is required; if a runner starts this server, start "gateway serve --local FILE" or connect that runner first`

// IsDeclared reports whether the file of a live runner declares a server, which
// therefore can't be deleted.
func IsDeclared(row *models.Server) bool { return row.Source != models.SourceNone && !row.Undeclared }

// Refused returns, by field, why a declaration that is not from the runner's file
// can't change a server.
func Refused(row *models.Server, alias string, d *declaration.Server) map[string]string {
	refused := map[string]string{}
	if row.Source == models.SourceLocal && !row.IsProgram() && alias != row.Alias {
		refused["alias"] = FromFile // files declare servers with a URL by alias
	}
	if !row.IsProgram() {
		return refused
	}
	for field, changes := range map[string]bool{
		"url": differs(d.URL, row.URL), "transport": differs(d.Transport, row.Transport), "authType": differs(d.AuthType, row.AuthType),
		"authBearer": given(d.AuthBearer), "headers": len(d.Headers)+len(d.MissingHeaders) > 0, "sessionMode": differs(d.SessionMode, row.SessionMode),
		"oauth": given(d.OAuthClientID) || given(d.OAuthClientSecret) || listed(d.OAuthScopes) || differs(d.OAuthGrant, row.OAuthGrant) ||
			differs(d.OAuthClientAuth, row.OAuthClientAuth) && *d.OAuthClientAuth != models.ClientSecretBasic ||
			given(d.OAuthPrivateKey) || given(d.OAuthKeyID) || given(d.OAuthTokenURL) || given(d.OAuthAudience),
		"tls":            given(d.TLSAuthority) || given(d.TLSCert) || given(d.TLSKey),
		"forwardHeaders": len(d.ForwardHeaders) > 0,
		"connection":     d.Connection != nil && *d.Connection == models.ConnectionPersonal, "personalHeaders": listed(d.PersonalHeaders),
	} {
		if changes {
			refused[field] = FromFile
		}
	}
	return refused
}

func differs[T comparable](declared *T, stored T) bool { return declared != nil && *declared != stored }

func given(text *string) bool { return text != nil && *text != "" }

func listed(list *[]string) bool { return list != nil && len(*list) > 0 }

// Entry returns the name of a program in the file of a source.
func Entry(source models.ServerSource, slug, alias string) string {
	if source == models.SourceConfig {
		return slug + "/" + alias
	}
	return alias
}

// Find returns the index of the server that a file declares with an alias, or -1.
// Programs keep their entry when an administrator renames them.
func Find(rows []models.Server, source models.ServerSource, slug, alias string) int {
	entry := Entry(source, slug, alias)
	return slices.IndexFunc(rows, func(row models.Server) bool {
		return source != models.SourceNone && row.Source == source && row.Entry == entry
	})
}

// Declare changes a row to the server that a file declares. It returns the changed
// fields, and its problem or "". A row with a URL that becomes a program loses its credentials.
func Declare(row *models.Server, found bool, source models.ServerSource, entry string, d *declaration.Server) (changed []string, problem string) {
	switch {
	case found && (!takes(row, source, d) || row.Source == source && row.IsProgram() && row.Entry != entry):
		return nil, Taken
	case !d.Program && source == models.SourceConfig && (row.Source != source || d.URL == nil):
		return nil, "" // a server with a URL, or settings of a program
	}
	before := *row
	switch {
	case d.Program:
		program(row, source, entry)
		if d.SessionMode == nil {
			row.SessionMode = models.SessionShared
		}
	case source == models.SourceLocal:
		row.Source, row.Entry, row.ListedHash = source, "", ""
	default:
		row.Source, row.Entry, row.ListedHash, row.Undeclared = models.SourceNone, "", "", false
	}
	if row.Source != before.Source || row.Entry != before.Entry {
		changed = append(changed, "source")
	}
	if row.SessionMode != before.SessionMode {
		changed = append(changed, "sessionMode")
	}
	return changed, ""
}

// takes reports whether a file can declare a stored server.
func takes(row *models.Server, source models.ServerSource, d *declaration.Server) bool {
	switch {
	case row.Source == source:
		return true
	case source == models.SourceConfig && !d.Program:
		return true // settings; Refused checks them
	}
	return source == models.SourceConfig && row.Source == models.SourceNone
}

// program changes a row to that of a program.
func program(row *models.Server, source models.ServerSource, entry string) {
	kept := *row
	*row = models.Server{
		ID: kept.ID, ProjectID: kept.ProjectID, Alias: kept.Alias, AliasFold: kept.AliasFold,
		Transport: models.TransportAuto, AuthType: models.UpstreamAuthNone, Connection: models.ConnectionShared,
		AllowedTools: kept.AllowedTools, DenyTools: kept.DenyTools, ToolOverrides: kept.ToolOverrides,
		Enabled: kept.Enabled, TimeoutMS: kept.TimeoutMS, MaxConcurrent: kept.MaxConcurrent, SessionMode: kept.SessionMode,
		DefinitionPolicy: kept.DefinitionPolicy, ProtocolVersion: kept.ProtocolVersion, TaskTimeoutMS: kept.TaskTimeoutMS, ResultLimit: kept.ResultLimit,
		Source: source, Entry: entry, ListedHash: kept.ListedHash, Undeclared: kept.Undeclared,
		ConfigVersion: kept.ConfigVersion, CreatedAt: kept.CreatedAt, UpdatedAt: kept.UpdatedAt,
	}
}
