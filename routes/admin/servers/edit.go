package servers

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/routes/frame"
	"mcpgateway/services/declaration"
	"mcpgateway/services/fault"
	"mcpgateway/services/projects"
	"mcpgateway/services/toolset"
	views "mcpgateway/views/admin/servers"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
	"mcpgateway/web"
)

// Edit serves GET …/servers/:id/edit.
func (a *Servers) Edit(c *fiber.Ctx) error {
	p, server, err := a.pages.Server(c)
	if err != nil {
		return err
	}
	return a.editForm(c, p, server, views.EditProps{})
}

// editForm renders the forms with the stored values. Forms with errors contain the
// entered values.
func (a *Servers) editForm(c *fiber.Ctx, p *toolset.Snapshot, server *toolset.Server, props views.EditProps) error {
	s := server.Config
	props.Frame = a.pages.ProjectFrame(c, p, layout.TabServers, s.Alias+": settings", serverCrumbs(p, server, "Settings")...)
	props.Head = a.head(p, server)
	props.Program = s.IsProgram()
	props.Open = p.Project.AuthMode == models.AuthNone
	props.Seen, props.CredentialsSeen = frame.Fingerprint(behaviourOf(&s)), frame.Fingerprint(credentialsKept(&s))
	fillEdit(&props, s)
	fillAccount(&props.Account, &s)
	return web.Render(c, views.Edit(props))
}

// fillEdit sets the forms without errors to the stored values.
func fillEdit(props *views.EditProps, s models.Server) {
	if props.Errors == nil {
		props.Alias, props.URL, props.Transport, props.Timeout = s.Alias, s.URL, string(s.Transport), ui.Seconds(s.TimeoutMS)
		props.ProtocolVersion, props.TaskTimeout = s.ProtocolVersion, ui.Seconds(s.TaskTimeoutMS)
		props.MaxConcurrent, props.ResultLimit = strconv.FormatInt(s.MaxConcurrent, 10), resultLimitOf(&s)
		props.SessionMode, props.DefinitionPolicy = string(s.SessionMode), string(s.DefinitionPolicy)
	}
	if props.CredentialErrors == nil {
		props.AuthType, props.OAuthClientID, props.OAuthScopes = string(s.AuthType), s.OAuthClientID, strings.Join(s.OAuthScopes, " ")
		props.Advanced = advancedOf(&s)
		if missing := missingHeaders(s); len(missing) > 0 {
			props.HeaderName = missing[0]
		}
	}
	props.HasPrivateKey, props.HasTLSKey = s.OAuthPrivateKey != "", s.TLSKey != ""
	if props.HasBearer = s.AuthBearer != ""; shownSecret(s.AuthBearer) != "stored" {
		props.AuthBearer = s.AuthBearer
	}
	props.HasClientSecret, props.Headers = s.OAuthClientSecret != "", slices.Sorted(maps.Keys(s.Headers))
}

// Save serves POST …/servers/:id/edit. A change that would send stored credentials
// to another URL requires a recent step-up confirmation.
func (a *Servers) Save(c *fiber.Ctx) error {
	p, server, err := a.pages.Server(c)
	if err != nil {
		return err
	}
	if err := refuseCommands(c, ""); err != nil {
		return err
	}
	props, d, err := behaviourTyped(c, &server.Config)
	if projects.TouchesCredentials(server.Config, d) {
		if confirmed, err := a.stepUp.StepUp(c); !confirmed {
			return err
		}
	}
	if err == nil {
		err = frame.CheckUnchanged(c, behaviourOf(&server.Config), behaviourSettings(&server.Config, props)...)
	}
	if err == nil {
		_, err = a.store.UpdateServer(c.UserContext(), server.Config.ID, &props.Alias, d)
	}
	if err == nil {
		return frame.Done(c, paths.Server(p.Project.Slug, server.Config.ID), "Server saved.")
	}
	if props.Errors, err = frame.Fields(c, err); err != nil {
		return err
	}
	return a.editForm(c, p, server, props)
}

// behaviourTyped parses the form of connection and behavior. It validates the
// numbers; the store validates the rest. Absent fields that earlier forms didn't
// have keep their stored values.
func behaviourTyped(c *fiber.Ctx, stored *models.Server) (views.EditProps, *declaration.Server, error) {
	props := views.EditProps{
		Alias: strings.TrimSpace(web.FormValue(c, "alias")), URL: strings.TrimSpace(web.FormValue(c, "url")), Transport: web.FormValue(c, "transport"),
		Timeout: web.FormValue(c, "timeout"), MaxConcurrent: strings.TrimSpace(web.FormValue(c, "maxConcurrent")), SessionMode: web.FormValue(c, "sessionMode"), DefinitionPolicy: web.FormValue(c, "definitionPolicy"),
	}
	props.ProtocolVersion = cmp.Or(web.FormValue(c, "protocolVersion"), stored.ProtocolVersion)
	props.TaskTimeout = cmp.Or(web.FormValue(c, "taskTimeout"), ui.Seconds(stored.TaskTimeoutMS))
	props.ResultLimit = resultLimitOf(stored)
	if c.Request().PostArgs().Has("resultLimit") {
		props.ResultLimit = strings.TrimSpace(web.FormValue(c, "resultLimit"))
	}
	ms, ok := readSeconds(props.Timeout)
	taskMS, taskOK := readSeconds(props.TaskTimeout)
	concurrent, wrong := strconv.ParseInt(props.MaxConcurrent, 10, 64)
	d := &declaration.Server{
		URL: &props.URL, Transport: new(models.Transport(props.Transport)), TimeoutMS: &ms, MaxConcurrent: &concurrent,
		ProtocolVersion: &props.ProtocolVersion, TaskTimeoutMS: &taskMS,
		SessionMode: new(models.SessionMode(props.SessionMode)), DefinitionPolicy: new(models.DefinitionPolicy(props.DefinitionPolicy)),
	}
	if stored.IsProgram() {
		ofProgram(d)
	}
	var unlimited error
	d.ResultLimit, unlimited = readResultLimit(props.ResultLimit)
	switch {
	case !ok:
		return props, d, fault.Validation(map[string]string{"timeout": "enter a number of seconds"})
	case !taskOK:
		return props, d, fault.Validation(map[string]string{"taskTimeout": "enter a number of seconds"})
	case wrong != nil:
		return props, d, fault.Validation(map[string]string{"maxConcurrent": fmt.Sprintf("enter a number from %d to %d", declaration.MinConcurrent, declaration.MaxConcurrent)})
	case unlimited != nil:
		return props, d, unlimited
	}
	return props, d, nil
}

// resultLimitOf returns a server's limit of results for the form: empty means that
// of the project.
func resultLimitOf(s *models.Server) string {
	if s.ResultLimit == nil {
		return ""
	}
	return strconv.FormatInt(*s.ResultLimit, 10)
}

// readResultLimit parses a limit of results.
func readResultLimit(text string) (*int64, error) {
	if text == "" {
		return new(declaration.ProjectResultLimit), nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return nil, fault.Validation(map[string]string{"resultLimit": fmt.Sprintf("enter a number from 0 to %d, or nothing for the project's limit", declaration.MaxResultLimit)})
	}
	return &n, nil
}

// ofProgram leaves out the settings of a declaration that the form of a program
// doesn't have. Others are for the store, which refuses them.
func ofProgram(d *declaration.Server) {
	if *d.URL == "" {
		d.URL = nil
	}
	if *d.Transport == "" {
		d.Transport = nil
	}
	if *d.SessionMode == "" {
		d.SessionMode = nil
	}
}

// behaviourOf returns the stored values that the form of connection and behavior
// can change.
func behaviourOf(s *models.Server) any {
	return []any{s.Alias, s.URL, s.URLSecrets, s.Transport, s.TimeoutMS, s.MaxConcurrent, s.SessionMode, s.DefinitionPolicy, s.ProtocolVersion, s.TaskTimeoutMS, resultLimitOf(s)}
}

func behaviourSettings(s *models.Server, entered views.EditProps) []frame.Entry {
	return []frame.Entry{
		frame.NewEntry("Alias", s.Alias, entered.Alias), frame.NewEntry("URL", s.URL, entered.URL), frame.NewEntry("Transport", string(s.Transport), entered.Transport),
		frame.NewEntry("Protocol version", s.ProtocolVersion, entered.ProtocolVersion), frame.NewEntry("Task timeout (seconds)", ui.Seconds(s.TaskTimeoutMS), entered.TaskTimeout), frame.NewEntry("Maximum result (bytes)", resultLimitOf(s), entered.ResultLimit),
		frame.NewEntry("Timeout (seconds)", ui.Seconds(s.TimeoutMS), entered.Timeout),
		frame.NewEntry("Maximum concurrent calls", strconv.FormatInt(s.MaxConcurrent, 10), entered.MaxConcurrent), frame.NewEntry("Sessions", string(s.SessionMode), entered.SessionMode),
		frame.NewEntry("New and changed tools", string(s.DefinitionPolicy), entered.DefinitionPolicy),
	}
}

// credentialsKept returns the stored values that the form of the credentials can
// change. Secrets are encrypted.
func credentialsKept(s *models.Server) any {
	return []any{
		s.AuthType, s.AuthBearer, s.Headers, s.OAuthClientID, s.OAuthClientSecret, s.OAuthScopes,
		s.OAuthGrant, s.OAuthClientAuth, s.OAuthPrivateKey, s.OAuthKeyID, s.OAuthTokenURL, s.OAuthAudience,
		s.TLSAuthority, s.TLSCert, s.TLSKey, s.ForwardHeaders,
	}
}

// SaveCredentials serves POST …/servers/:id/credentials.
func (a *Servers) SaveCredentials(c *fiber.Ctx) error {
	p, server, err := a.pages.Server(c)
	if err != nil {
		return err
	}
	props, d := credentialsTyped(c, &server.Config)
	if err = a.confirmedSharing(c, p, d); err == nil {
		err = frame.CheckUnchanged(c, credentialsKept(&server.Config), frame.NewEntry("Method", string(server.Config.AuthType), props.AuthType))
	}
	if err == nil {
		_, err = a.store.UpdateServer(c.UserContext(), server.Config.ID, nil, d)
	}
	switch to := paths.Server(p.Project.Slug, server.Config.ID); {
	case err == nil && props.AuthType == string(models.UpstreamAuthOAuth) && *d.OAuthGrant == models.GrantCode:
		return frame.Done(c, to, "Credentials saved. Connect the server next.")
	case err == nil:
		return frame.Done(c, to, "Credentials saved.")
	}
	fields, err := frame.Fields(c, err)
	if err != nil {
		return err
	}
	props.CredentialErrors = credentialFields(fields, props.HeaderName)
	return a.editForm(c, p, server, props)
}

// credentialsTyped parses the form of the credentials. Empty secrets retain the
// stored values.
func credentialsTyped(c *fiber.Ctx, server *models.Server) (views.EditProps, *declaration.Server) {
	props := views.EditProps{
		AuthType: web.FormValue(c, "authType"), OAuthClientID: strings.TrimSpace(web.FormValue(c, "oauth.clientId")), OAuthScopes: web.FormValue(c, "oauth.scopes"),
		HeaderName: strings.TrimSpace(web.FormValue(c, "headerName")),
	}
	d := &declaration.Server{
		AuthType: new(models.AuthType(props.AuthType)), Headers: map[string]string{},
		OAuthClientID: &props.OAuthClientID, OAuthScopes: new(strings.Fields(props.OAuthScopes)),
	}
	if token := strings.TrimSpace(web.FormValue(c, "authBearer")); token != "" {
		d.AuthBearer = &token
	} else if web.FormValue(c, "clearBearer") != "" {
		d.AuthBearer = new("")
	}
	if secret := strings.TrimSpace(web.FormValue(c, "oauth.clientSecret")); secret != "" {
		d.OAuthClientSecret = &secret
	}
	props.Advanced = advancedTyped(c, server, d)
	for _, name := range frame.PostedAll(c, "removeHeader") {
		d.Headers[name] = ""
	}
	if value := strings.TrimSpace(web.FormValue(c, "headerValue")); value != "" || props.HeaderName != "" {
		d.Headers[props.HeaderName] = value
	}
	if name := props.HeaderName; d.Headers[name] == "" && slices.Contains(missingHeaders(*server), http.CanonicalHeaderKey(name)) && web.FormValue(c, "removeHeader") == "" {
		delete(d.Headers, name) // the form was prefilled with a missing header, which stays without a value
	}
	return props, d
}

// credentialFields returns the errors of the credentials by form field.
func credentialFields(fields map[string]string, header string) map[string]string {
	for name, why := range fields {
		if source, ok := strings.CutPrefix(name, "forwardHeaders."); ok {
			delete(fields, name)
			fields["forwardHeaders"] = source + ": " + why
		}
	}
	if why, wrong := fields["headers."+header]; wrong {
		delete(fields, "headers."+header)
		fields["headerName"] = why
	}
	return fields
}

// confirmedSharing returns a validation error if a server of an open project gets
// credentials and sharing them is not confirmed.
func (a *Servers) confirmedSharing(c *fiber.Ctx, p *toolset.Snapshot, d *declaration.Server) error {
	gains := d.AuthBearer != nil && *d.AuthBearer != "" || d.AuthType != nil && *d.AuthType == models.UpstreamAuthOAuth || d.TLSKey != nil && *d.TLSKey != ""
	for _, value := range d.Headers {
		gains = gains || value != ""
	}
	if !gains || p.Project.AuthMode != models.AuthNone || web.FormValue(c, "understood") != "" {
		return nil
	}
	return fault.Validation(map[string]string{"understood": "confirm this, or leave the credentials out"})
}
