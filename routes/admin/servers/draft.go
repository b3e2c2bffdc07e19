package servers

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"mcpgateway/models"
	"mcpgateway/routes/frame"
	"mcpgateway/services/clientfile"
	"mcpgateway/services/declaration"
	"mcpgateway/services/projects"
	"mcpgateway/services/secrets"
	"mcpgateway/services/toolset"
	views "mcpgateway/views/admin/servers"
	"mcpgateway/views/ui"
)

// draftPurpose distinguishes sealed drafts from other sealed tokens.
const draftPurpose = "server that is being added"

// sealedDraft is the sealed part of a new server's form: the pasted declaration with
// its secrets, or the reasons for its rejection.
type sealedDraft struct {
	Alias       string          `json:"alias"`
	Declaration json.RawMessage `json:"declaration"`
	Notes       []string        `json:"notes,omitempty"`
	Refused     []string        `json:"refused,omitempty"`
	Command     string          `json:"command,omitempty"`
	Hint        string          `json:"hint,omitempty"`
	SecretHint  string          `json:"secretHint,omitempty"`
	Tested      string          `json:"tested,omitempty"` // fingerprint of the tested connection
	Test        *views.Test     `json:"test,omitempty"`
}

func (a *Wizard) sealed(draft views.Draft, d *declaration.Server) string {
	held := sealedDraft{
		Alias: draft.Alias, Declaration: d.JSON(), Notes: draft.Notes, Refused: draft.Refused, Command: draft.Command, Hint: draft.Hint, SecretHint: draft.SecretHint,
	}
	if draft.Test.Done {
		held.Tested, held.Test = fingerprint(draft, d), &draft.Test
	}
	b, err := json.Marshal(held)
	if err != nil {
		return ""
	}
	return a.seal.SealToken(draftPurpose, b)
}

// fingerprint identifies the connection of a draft.
func fingerprint(draft views.Draft, d *declaration.Server) string {
	return frame.Fingerprint([]any{draft.URL, draft.Transport, draft.AuthType, draft.HeaderName, string(d.JSON())})
}

// testOf returns the outcome of the last test, unless the connection has changed
// since.
func (held sealedDraft) testOf(one *candidate) views.Test {
	if held.Test == nil || held.Tested != fingerprint(one.draft, one.declaration) {
		return views.Test{}
	}
	return *held.Test
}

// openDraft decrypts a token from sealed. It returns an error for an invalid token,
// because the settings in it would be lost.
func (a *Wizard) openDraft(token string) (sealedDraft, *declaration.Server, error) {
	var held sealedDraft
	plain, err := a.seal.OpenToken(draftPurpose, token)
	if err == nil {
		err = json.Unmarshal(plain, &held)
	}
	if err == nil {
		var d *declaration.Server
		if _, d, err = declaration.ParseServer(held.Declaration); err == nil {
			return held, d, nil
		}
	}
	return held, nil, errIncomplete()
}

// draftOfPasted returns the form of a pasted server.
func (a *Wizard) draftOfPasted(s declaration.PastedServer) views.Draft {
	draft := draftOf(s.Alias, s.Declaration)
	draft.Notes, draft.Problems, draft.Command = s.Notes, map[string]string{}, s.Command
	if s.Command != "" {
		draft.LocalFile, draft.LocalEnv = localFile(s)
	}
	refused := false
	for _, p := range s.Problems {
		line := p.Why
		if p.Path != "" {
			line = p.Path + ": " + p.Why
		}
		if p.Why == clientfile.CommandsFromFile {
			line = p.Why // the page shows the whole entry
		}
		draft.Refused = append(draft.Refused, line)
		field, inForm := p.Field, slices.Contains([]string{"alias", "url", "transport", "authBearer"}, p.Field)
		if draft.HeaderName != "" && p.Field == "headers."+draft.HeaderName {
			field, inForm = "authBearer", true
		}
		draft.Problems[field] = p.Why
		refused = refused || !inForm
	}
	if draft.Skip = refused; !refused {
		draft.Refused = nil
	}
	draft.Sealed = a.sealed(draft, s.Declaration)
	return draft
}

// draftOfEntry returns the form of a catalog entry. Without an alias it has a free
// one.
func (a *Wizard) draftOfEntry(p *toolset.Snapshot, e *models.CatalogEntry, alias string) views.Draft {
	d := projects.FromCatalog(e, true)
	draft := draftOf(cmp.Or(alias, projects.FreeAliasIn(p, e.ServerName)), d)
	if why := notRemote(e); why != "" {
		draft.Refused = []string{why}
	}
	if len(e.SecretEnv) > 0 {
		draft.SecretHint = "${" + e.SecretEnv[0] + "}"
	}
	if e.AuthType == "unknown" {
		draft.Hint = "The catalog doesn't list the credentials of this server. Try without credentials first."
	}
	draft.Sealed = a.sealed(draft, d)
	return draft
}

// draftOf returns the form of a declared server.
func draftOf(alias string, d *declaration.Server) views.Draft {
	draft := views.Draft{Alias: alias, Transport: string(models.TransportAuto), AuthType: "none", Settings: draftSettings(d)}
	if d.URL != nil {
		draft.URL = projects.MaskURL(*d.URL)
	}
	if d.Transport != nil {
		draft.Transport = string(*d.Transport)
	}
	hasBearer := d.AuthBearer != nil && *d.AuthBearer != ""
	switch {
	case d.AuthType != nil:
		draft.AuthType = string(*d.AuthType)
	case hasBearer:
		draft.AuthType = "bearer"
	}
	draft.HasSecret = hasBearer && draft.AuthType == "bearer"
	draft.Headers = slices.Concat(slices.Sorted(maps.Keys(d.Headers)), d.MissingHeaders)
	if draft.AuthType == "none" && len(draft.Headers) > 0 {
		draft.AuthType, draft.HeaderName, draft.Headers = "header", draft.Headers[0], draft.Headers[1:]
		draft.HasSecret = d.Headers[draft.HeaderName] != ""
	}
	draft.SecretEnd = secretEnd(&draft, d)
	return draft
}

// minShownSecret is the minimum length of a secret whose last characters pages show.
const minShownSecret = 16

// secretEnd returns what pages show of the secret: its last two characters, or all of
// a reference. It is empty for short secrets.
func secretEnd(draft *views.Draft, d *declaration.Server) string {
	secret := d.Headers[draft.HeaderName]
	if draft.AuthType == "bearer" && d.AuthBearer != nil {
		secret = *d.AuthBearer
	}
	if _, isReference := secrets.Reference(secret); isReference {
		return secret
	}
	if len(secret) < minShownSecret {
		return ""
	}
	return secret[len(secret)-2:]
}

// draftSettings describes the declared settings that have no field in the form.
func draftSettings(d *declaration.Server) (words []string) {
	say := func(said bool, text string) {
		if said {
			words = append(words, text)
		}
	}
	listed := func(list *[]string) string {
		if list == nil {
			return ""
		}
		return strings.Join((*list)[:min(len(*list), 20)], ", ") + strings.Repeat(", …", min(1, max(0, len(*list)-20)))
	}
	say(listed(d.AllowedTools) != "", "Allowed tools: "+listed(d.AllowedTools))
	say(listed(d.DenyTools) != "", "Denied tools: "+listed(d.DenyTools))
	say(d.Enabled != nil && !*d.Enabled, "Added turned off")
	if d.TimeoutMS != nil {
		words = append(words, "Timeout: "+ui.Seconds(*d.TimeoutMS)+" s")
	}
	if d.ProtocolVersion != nil && *d.ProtocolVersion != models.ProtocolAuto {
		words = append(words, "Protocol version: "+*d.ProtocolVersion)
	}
	if d.TaskTimeoutMS != nil {
		words = append(words, "Task timeout: "+ui.Seconds(*d.TaskTimeoutMS)+" s")
	}
	say(d.ResultLimit != nil && *d.ResultLimit == 0, "Answers without a limit")
	if d.ResultLimit != nil && *d.ResultLimit > 0 {
		words = append(words, "Maximum result: "+ui.Count(int(*d.ResultLimit))+" bytes")
	}
	say(d.SessionMode != nil && *d.SessionMode == models.SessionPerClient, "One session per client")
	say(d.DefinitionPolicy != nil && *d.DefinitionPolicy == models.PolicyApprove, "New and changed tools stay off until approved")
	say(d.Connection != nil && *d.Connection == models.ConnectionPersonal, "Everyone uses their own account")
	say(listed(d.PersonalHeaders) != "", "Personal headers: "+listed(d.PersonalHeaders))
	say(d.OAuthClientID != nil && *d.OAuthClientID != "", "With its own OAuth client")
	say(listed(d.OAuthScopes) != "", "OAuth scopes: "+listed(d.OAuthScopes))
	return words
}
