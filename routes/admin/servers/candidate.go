package servers

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"
	"golang.org/x/sync/errgroup"

	"mcpgateway/models"
	"mcpgateway/services/background"
	"mcpgateway/services/declaration"
	"mcpgateway/services/fault"
	"mcpgateway/services/inventory"
	"mcpgateway/services/projects"
	"mcpgateway/services/toolset"
	"mcpgateway/services/upstream"
	shared "mcpgateway/views/admin"
	views "mcpgateway/views/admin/servers"
	"mcpgateway/views/ui"
	"mcpgateway/web"
)

// tryAtOnce is the maximum number of concurrent connection tests and syncs.
const tryAtOnce = 8

// candidate is a server of the form and the outcome of adding it.
type candidate struct {
	draft       views.Draft
	declaration *declaration.Server
	row         models.Server // tested row
	server      models.Server // stored row; without an id it was not added
	read        bool
	tools       int
}

func (one *candidate) hasCredentials() bool {
	d := one.declaration
	return !one.draft.Skip && (d.AuthBearer != nil && *d.AuthBearer != "" || len(d.Headers) > 0 || d.AuthType != nil && *d.AuthType == models.UpstreamAuthOAuth)
}

func numberOf(row int) string { return strconv.Itoa(row) }

// candidate parses one server of the form. Settings from earlier steps are
// retained unless the fields change them.
func (a *Wizard) candidate(c *fiber.Ctx, number string) (*candidate, error) {
	field := func(name string) string { return strings.TrimSpace(web.FormValue(c, number+"."+name)) }
	if err := refuseCommands(c, number+"."); err != nil {
		return nil, err
	}
	if err := refuseTransport(models.Transport(field("transport"))); err != nil {
		return nil, err
	}
	held, d, err := a.openDraft(field("sealed"))
	if err != nil {
		return nil, err
	}
	if len(held.Refused) > 0 {
		draft := views.Draft{Number: number, Alias: held.Alias, Refused: held.Refused, Command: held.Command, Notes: held.Notes, Sealed: field("sealed"), Skip: true}
		return &candidate{draft: draft, declaration: d}, nil
	}
	draft := views.Draft{
		Number: number, Alias: field("alias"), URL: field("url"), Transport: field("transport"), AuthType: field("authType"), HeaderName: field("headerName"),
		Notes: held.Notes, Hint: held.Hint, SecretHint: held.SecretHint,
	}
	previous := ""
	if d.URL != nil {
		previous = *d.URL
	}
	address := projects.UnmaskURL(draft.URL, previous)
	draft.URL = projects.MaskURL(address)
	d.URL, d.Transport = &address, new(models.Transport(draft.Transport))
	secret := field("secret")
	if draft.AuthType == "header" {
		secret = cmp.Or(field("headerValue"), secret)
	}
	credentialsOfDraft(&draft, d, secret)
	one := &candidate{draft: draft, declaration: d}
	one.draft.Test = held.testOf(one)
	a.settle(one)
	return one, nil
}

// settle sets the parts of the draft that follow from its declaration.
func (a *Wizard) settle(one *candidate) {
	d, draft := one.declaration, &one.draft
	draft.Settings, draft.Headers = draftSettings(d), nil
	for _, name := range slices.Sorted(maps.Keys(d.Headers)) {
		if name != draft.HeaderName {
			draft.Headers = append(draft.Headers, name)
		}
	}
	draft.SecretEnd = secretEnd(draft, d)
	draft.Sealed = a.sealed(*draft, d)
}

// credentialsOfDraft sets the credentials of the form in the declaration. typed is
// the new secret; may be empty.
func credentialsOfDraft(draft *views.Draft, d *declaration.Server, typed string) {
	if d.Headers == nil {
		d.Headers = map[string]string{}
	}
	switch draft.AuthType {
	case "bearer":
		if typed != "" {
			d.AuthBearer = &typed
		}
		d.AuthType, draft.HasSecret = new(models.UpstreamAuthBearer), d.AuthBearer != nil && *d.AuthBearer != ""
		return
	case "header":
		if typed != "" {
			name := http.CanonicalHeaderKey(draft.HeaderName)
			maps.DeleteFunc(d.Headers, func(given, _ string) bool { return http.CanonicalHeaderKey(given) == name })
			d.Headers[draft.HeaderName] = typed
		}
		if draft.HasSecret = d.Headers[draft.HeaderName] != ""; !draft.HasSecret && draft.HeaderName != "" {
			d.MissingHeaders = []string{draft.HeaderName}
		}
		fallthrough
	case "none":
		if d.AuthType == nil || *d.AuthType != models.UpstreamAuthNone {
			d.AuthBearer = nil
		}
		d.AuthType = new(models.UpstreamAuthNone)
	default:
		d.AuthType = new(models.AuthType(draft.AuthType))
	}
}

// try tests the connections to the candidates and sets their outcomes.
func (a *Wizard) try(ctx context.Context, p *toolset.Snapshot, tasks *background.Tasks, candidates []*candidate) {
	var trying errgroup.Group
	trying.SetLimit(tryAtOnce)
	for _, one := range candidates {
		var err error
		one.draft.Test, one.draft.Problems = views.Test{}, nil
		if one.row, err = a.store.Draft(ctx, &p.Project, one.draft.Alias, one.declaration); err != nil {
			one.draft.Problems = draftProblems(err, one.draft.HeaderName)
			continue
		}
		if one.draft.AuthType == "header" && one.draft.HeaderName == "" {
			one.draft.Problems = map[string]string{"headerName": "enter a header name and value"}
			continue
		}
		if one.row.AuthType == models.UpstreamAuthOAuth || one.row.IsPersonal() {
			one.draft.Test = views.Test{Done: true, SignIn: true}
			a.settle(one)
			continue
		}
		if !one.row.Enabled {
			one.draft.Test = views.Test{Done: true, Off: true}
			continue
		}
		trying.Go(tasks.ErrFunc("trial of a server", func() error {
			var found inventory.Preview
			err := tasks.Try("trial of a server", func() (err error) { found, err = a.reader.Preview(ctx, one.row); return err })
			one.tested(found, err)
			a.settle(one)
			return nil
		}))
	}
	_ = trying.Wait() // tests return no error; outcomes are set on the candidates
}

// tested sets the outcome of a connection test. A server that refers to its OAuth
// metadata gets OAuth if it has no credentials.
func (one *candidate) tested(found inventory.Preview, err error) {
	draft := &one.draft
	if err == nil {
		draft.Test = views.Test{Done: true, OK: true, Tools: len(found.Tools), Took: ui.Took(found.Duration)}
		return
	}
	reason := upstream.ReasonOf(err)
	if reason == upstream.ReasonSignIn && draft.AuthType == "none" {
		draft.AuthType, one.declaration.AuthType = "oauth", new(models.UpstreamAuthOAuth)
		draft.Test = views.Test{Done: true, SignIn: true}
		return
	}
	failure := shared.FailureOf(shared.FailedServer{Reason: string(reason), Message: fault.From(err).AdminMessage(), URL: draft.URL, HasCredentials: draft.AuthType != "none"})
	draft.Test = views.Test{Done: true, Failure: &failure, NoToken: reason == upstream.ReasonNoToken}
}

func draftProblems(err error, header string) map[string]string {
	f := fault.From(err)
	if len(f.Fields) == 0 {
		return map[string]string{"": f.AdminMessage()}
	}
	fields := credentialFields(maps.Clone(f.Fields), header)
	if why, wrong := fields["protocolVersion"]; wrong { // the form has only the transport
		delete(fields, "protocolVersion")
		fields["transport"] = why
	}
	return fields
}

// addable reports whether a server is stored, and turned off because it can't be
// reached.
func (one *candidate) addable(adding adding) (store, off bool) {
	test := one.draft.Test
	switch {
	case !adding.includes(one) || len(one.draft.Problems) > 0:
		return false, false
	case adding.skipsTest(one), test.Failure == nil, test.NoToken:
		return true, false
	}
	return adding.anyway, adding.anyway
}

// add stores the candidates that can be added and syncs their tools. It returns only
// errors that concern no single candidate.
func (a *Wizard) add(ctx context.Context, tasks *background.Tasks, slug string, candidates []*candidate, adding adding) error {
	var syncing errgroup.Group
	syncing.SetLimit(tryAtOnce)
	defer func() { _ = syncing.Wait() }() // a failed sync is recorded with the server and shown on its page
	for _, one := range candidates {
		store, off := one.addable(adding)
		if !store {
			continue
		}
		if off {
			one.declaration.Enabled = new(false)
		}
		saved, err := a.store.AddServer(ctx, slug, one.draft.Alias, one.declaration)
		switch f := fault.From(err); {
		case err == nil:
		case f.Kind == fault.KindConflict || f.Kind == fault.KindValidation:
			one.draft.Problems = draftProblems(err, one.draft.HeaderName)
			continue
		default:
			return err
		}
		if one.server = saved.Server; one.server.AuthType == models.UpstreamAuthOAuth || one.server.IsPersonal() || !one.server.Enabled {
			continue
		}
		syncing.Go(tasks.ErrFunc("first sync", func() error {
			if result, err := a.reader.Sync(ctx, one.server.ID); err == nil {
				one.read, one.tools = true, result.Total
			}
			return nil
		}))
	}
	return nil
}
