package servers

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"
	"golang.org/x/sync/errgroup"

	"mcpgateway/models"
	"mcpgateway/services/background"
	"mcpgateway/services/declaration"
	"mcpgateway/services/fault"
	"mcpgateway/services/projects"
	views "mcpgateway/views/admin"
	"mcpgateway/web"
)

// tryAtOnce is how many servers are tried at the same time.
const tryAtOnce = 8

// candidate is a server of the form, and what became of it.
type candidate struct {
	draft       views.ServerDraft
	declaration *declaration.Server
	row         models.Server // as it is tried
	server      models.Server // as it was added; without an id it was not
	read        bool
	tools       int
}

func (one *candidate) failed() bool { return one.server.ID == "" && !one.draft.Skip }

func (one *candidate) hasCredentials() bool {
	d := one.declaration
	return !one.draft.Skip && (d.AuthBearer != nil && *d.AuthBearer != "" || len(d.Headers) > 0 || *d.AuthType == models.UpstreamAuthOAuth)
}

// candidate reads one server of the form. What was given in an earlier step
// stays, but for what the fields say.
func (a *Wizard) candidate(c *fiber.Ctx, prefix string) (*candidate, error) {
	field := func(name string) string { return strings.TrimSpace(web.Posted(c, prefix+name)) }
	held, d, err := a.openDraft(field("sealed"))
	if err != nil {
		return nil, err
	}
	if len(held.Refused) > 0 {
		draft := views.ServerDraft{Alias: held.Alias, Refused: held.Refused, Sealed: field("sealed"), Skip: true}
		return &candidate{draft: draft, declaration: d}, nil
	}
	draft := views.ServerDraft{
		Alias: field("alias"), URL: field("url"), Transport: field("transport"), AuthType: field("authType"), HeaderName: field("headerName"),
		Notes: held.Notes,
	}
	previous := ""
	if d.URL != nil {
		previous = *d.URL
	}
	address := projects.UnmaskURL(draft.URL, previous)
	draft.URL = projects.MaskURL(address)
	d.URL, d.Transport = &address, new(models.Transport(draft.Transport))
	credentialsOfDraft(&draft, d, field("secret"))
	draft.Settings, draft.Headers = draftSettings(d), nil
	for _, name := range slices.Sorted(maps.Keys(d.Headers)) {
		if name != draft.HeaderName {
			draft.Headers = append(draft.Headers, name)
		}
	}
	draft.Sealed = a.sealed(draft, d)
	return &candidate{draft: draft, declaration: d}, nil
}

// credentialsOfDraft writes the credentials that the form chose into the
// declaration. typed is the new secret, if any.
func credentialsOfDraft(draft *views.ServerDraft, d *declaration.Server, typed string) {
	if d.Headers == nil {
		d.Headers = map[string]string{}
	}
	switch draft.AuthType {
	case "bearer":
		if typed != "" || d.AuthBearer == nil {
			d.AuthBearer = &typed
		}
		d.AuthType, draft.HasSecret = new(models.UpstreamAuthBearer), *d.AuthBearer != ""
		return
	case "header":
		if typed != "" {
			name := http.CanonicalHeaderKey(draft.HeaderName)
			maps.DeleteFunc(d.Headers, func(given, _ string) bool { return http.CanonicalHeaderKey(given) == name })
			d.Headers[draft.HeaderName] = typed
		}
		draft.HasSecret = d.Headers[draft.HeaderName] != ""
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

// try connects to the candidates and notes on each why it cannot be added.
// Servers that need a person to agree first are not tried; untested leaves it
// out for all.
func (a *Wizard) try(ctx context.Context, tasks *background.Tasks, candidates []*candidate, untested bool) {
	var trying errgroup.Group
	trying.SetLimit(tryAtOnce)
	for _, one := range candidates {
		if one.draft.Skip {
			continue
		}
		var err error
		if one.row, err = a.store.Draft(one.draft.Alias, one.declaration); err != nil {
			one.draft.Problems = draftProblems(err, one.draft.HeaderName)
			continue
		}
		if one.draft.AuthType == "header" && one.declaration.Headers[one.draft.HeaderName] == "" {
			one.draft.Problems = map[string]string{"headerName": "give the header a name and a value"}
			continue
		}
		if untested || one.row.AuthType == models.UpstreamAuthOAuth || !one.row.Enabled {
			continue
		}
		trying.Go(tasks.ErrFunc("trial of a server", func() error {
			err := tasks.Try("trial of a server", func() error { _, err := a.reader.Try(ctx, one.row); return err })
			if err != nil {
				one.draft.Failed = fault.From(err).AdminMessage()
				one.draft.Advice, one.draft.AuthType = adviceFor(err, one.draft.AuthType)
			}
			return nil
		}))
	}
	_ = trying.Wait() // no trial returns an error: each is noted on its candidate
}

func draftProblems(err error, header string) map[string]string {
	f := fault.From(err)
	if len(f.Fields) == 0 {
		return map[string]string{"": f.AdminMessage()}
	}
	return credentialFields(maps.Clone(f.Fields), header)
}

// add stores the candidates that nothing is wrong with, and reads their tools.
// It returns an error that is about none of them.
func (a *Wizard) add(ctx context.Context, slug string, candidates []*candidate) error {
	for _, one := range candidates {
		if one.draft.Skip || len(one.draft.Problems) > 0 || one.draft.Failed != "" {
			continue
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
		one.server = saved.Server
		if one.server.AuthType == models.UpstreamAuthOAuth || !one.server.Enabled {
			continue
		}
		// A failure is recorded with the server, where its page shows it.
		if result, err := a.reader.Sync(ctx, one.server.ID); err == nil {
			one.read, one.tools = true, result.Total
		}
	}
	return nil
}
