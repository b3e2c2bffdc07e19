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

// tryAtOnce is the maximum number of concurrent connection tests.
const tryAtOnce = 8

// draftServer is a server of the form and the outcome of adding it.
type draftServer struct {
	draft       views.ServerDraft
	declaration *declaration.Server
	row         models.Server // tested row
	server      models.Server // stored row; without an id it was not added
	read        bool
	tools       int
}

func (one *draftServer) failed() bool { return one.server.ID == "" && !one.draft.Skip }

func (one *draftServer) hasCredentials() bool {
	d := one.declaration
	return !one.draft.Skip && (d.AuthBearer != nil && *d.AuthBearer != "" || len(d.Headers) > 0 || *d.AuthType == models.UpstreamAuthOAuth)
}

// draftServer parses one server of the form. Settings from earlier steps are
// retained unless the fields change them.
func (a *Wizard) candidate(c *fiber.Ctx, prefix string) (*draftServer, error) {
	field := func(name string) string { return strings.TrimSpace(web.FormValue(c, prefix+name)) }
	held, d, err := a.openDraft(field("sealed"))
	if err != nil {
		return nil, err
	}
	if len(held.Refused) > 0 {
		draft := views.ServerDraft{Alias: held.Alias, Refused: held.Refused, Sealed: field("sealed"), Skip: true}
		return &draftServer{draft: draft, declaration: d}, nil
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
	return &draftServer{draft: draft, declaration: d}, nil
}

// credentialsOfDraft sets the credentials of the form in the declaration. typed is
// the new secret; may be empty.
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

// try tests the connections to the candidates and sets their errors. It skips
// servers that require a user's authorization, and all servers if untested is set.
func (a *Wizard) try(ctx context.Context, tasks *background.Tasks, candidates []*draftServer, untested bool) {
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
			one.draft.Problems = map[string]string{"headerName": "enter a header name and value"}
			continue
		}
		if untested || one.row.AuthType == models.UpstreamAuthOAuth || !one.row.Enabled {
			continue
		}
		trying.Go(tasks.ErrFunc("trial of a server", func() error {
			err := tasks.Try("trial of a server", func() error { _, err := a.reader.Preview(ctx, one.row); return err })
			if err != nil {
				one.draft.Failed = fault.From(err).AdminMessage()
				one.draft.Advice, one.draft.AuthType = adviceFor(err, one.draft.AuthType)
			}
			return nil
		}))
	}
	_ = trying.Wait() // tests return no error; errors are set on the candidates
}

func draftProblems(err error, header string) map[string]string {
	f := fault.From(err)
	if len(f.Fields) == 0 {
		return map[string]string{"": f.AdminMessage()}
	}
	return credentialFields(maps.Clone(f.Fields), header)
}

// add stores the candidates without errors and syncs their tools. It returns only
// errors that concern no single candidate.
func (a *Wizard) add(ctx context.Context, slug string, candidates []*draftServer) error {
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
		// A failed sync is recorded with the server and shown on its page.
		if result, err := a.reader.Sync(ctx, one.server.ID); err == nil {
			one.read, one.tools = true, result.Total
		}
	}
	return nil
}
