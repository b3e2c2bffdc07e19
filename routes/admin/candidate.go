package admin

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/gofiber/fiber/v2"
	"golang.org/x/sync/errgroup"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/projects"
	"mcpgateway/services/toolset"
	views "mcpgateway/views/admin"
)

// Sealer seals what a page carries from one step to the next and nobody may
// read in it; secrets.KeyRing says how.
type Sealer interface {
	SealToken(purpose string, plain []byte) string
	OpenToken(purpose, token string) ([]byte, error)
}

// draftPurpose keeps the sealed secrets of new servers apart from every other
// sealed token.
const draftPurpose = "secrets of a server that is being added"

// tryAtOnce is how many servers are tried at the same time.
const tryAtOnce = 8

// draftSecrets are the secrets that were given for a server already.
type draftSecrets struct {
	Bearer  string            `json:"bearer,omitzero"`
	Headers map[string]string `json:"headers,omitempty"`
	URL     string            `json:"url,omitzero"` // when its query has values
}

// mask returns a URL as pages show it and holds what that leaves out.
func (s *draftSecrets) mask(address string) string {
	masked := projects.MaskURL(address)
	if s.URL = ""; masked != address {
		s.URL = address
	}
	return masked
}

// candidate is a server of the form, and what became of it.
type candidate struct {
	draft       views.ServerDraft
	declaration *projects.ServerDeclaration
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

func (a *ServerWizard) sealed(s draftSecrets) string {
	b, err := json.Marshal(s)
	if err != nil || s.Bearer == "" && len(s.Headers) == 0 && s.URL == "" {
		return ""
	}
	return a.seal.SealToken(draftPurpose, b)
}

func (a *ServerWizard) opened(token string) (s draftSecrets) {
	plain, err := a.seal.OpenToken(draftPurpose, token)
	if err != nil || json.Unmarshal(plain, &s) != nil {
		return draftSecrets{}
	}
	return s
}

// draftOfPasted returns the form of a server that was pasted.
func (a *ServerWizard) draftOfPasted(s projects.PastedServer) views.ServerDraft {
	d := s.Declaration
	draft := views.ServerDraft{Alias: s.Alias, Transport: string(models.TransportAuto), AuthType: "none", Notes: s.Notes, Problems: s.Problems}
	if draft.Refused = s.Problems["command"]; draft.Refused != "" {
		draft.Skip = true
	}
	secrets := draftSecrets{Headers: d.Headers}
	if d.URL != nil {
		draft.URL = secrets.mask(*d.URL)
	}
	if d.Transport != nil {
		draft.Transport = string(*d.Transport)
	}
	if d.AuthType != nil {
		draft.AuthType = string(*d.AuthType)
	}
	if d.AuthBearer != nil && *d.AuthBearer != "" {
		secrets.Bearer, draft.AuthType, draft.HasSecret = *d.AuthBearer, "bearer", true
	}
	names := slices.Sorted(maps.Keys(d.Headers))
	if secrets.Bearer == "" && draft.AuthType == "none" && len(names) > 0 {
		draft.AuthType, draft.HeaderName, draft.HasSecret = "header", names[0], d.Headers[names[0]] != ""
		names = names[1:]
	}
	draft.Headers, draft.Sealed = names, a.sealed(secrets)
	return draft
}

// draftOfEntry returns the form of a server of the catalog.
func draftOfEntry(p *toolset.Snapshot, e *models.CatalogEntry) views.ServerDraft {
	draft := views.ServerDraft{
		Alias: freeAlias(p, e.ServerName), URL: e.RemoteURL, Transport: string(transportOfEntry(e)), AuthType: "none",
		HeaderName: e.AuthHeader, Refused: notRemote(e),
	}
	switch e.AuthType {
	case "bearer", "header", "oauth":
		draft.AuthType = e.AuthType
	case "unknown":
		draft.Hint = "The catalog does not know what this server asks for. Try it without credentials first."
	}
	if e.AuthType == "header" && strings.EqualFold(e.AuthHeader, "Authorization") {
		draft.AuthType, draft.HeaderName = "bearer", ""
	}
	return draft
}

func transportOfEntry(e *models.CatalogEntry) models.Transport {
	if e.ServerType == "sse" {
		return models.TransportSSE
	}
	return models.TransportAuto
}

// maxDerivedAlias is the longest alias that follows from a name; tools have
// names of their own behind it.
const maxDerivedAlias = 32

// freeAlias returns an alias that follows from a name and that no server of
// the project has.
func freeAlias(p *toolset.Snapshot, name string) string {
	base := strings.Trim(cut(plain(name), maxDerivedAlias), "-")
	if base == "" || base == "gateway" {
		base = "server"
	}
	taken := func(alias string) bool {
		return slices.ContainsFunc(p.Servers, func(s *toolset.Server) bool { return s.Config.AliasFold == alias })
	}
	alias := base
	for n := 2; taken(alias); n++ {
		alias = base + "-" + strconv.Itoa(n)
	}
	return alias
}

// candidate reads one server of the form. What was given in an earlier step is
// used where nothing was typed.
func (a *ServerWizard) candidate(c *fiber.Ctx, prefix string) *candidate {
	field := func(name string) string { return strings.TrimSpace(posted(c, prefix+name)) }
	draft := views.ServerDraft{
		Alias: field("alias"), URL: field("url"), Transport: field("transport"), AuthType: field("authType"), HeaderName: field("headerName"),
	}
	held := a.opened(field("sealed"))
	if held.Headers == nil {
		held.Headers = map[string]string{}
	}
	address := projects.UnmaskURL(draft.URL, held.URL)
	draft.URL = held.mask(address)
	d := &projects.ServerDeclaration{URL: &address, Transport: pointer(models.Transport(draft.Transport)), AuthType: pointer(models.UpstreamAuthNone), Headers: map[string]string{}}
	maps.Copy(d.Headers, held.Headers)
	typed := field("secret")
	switch draft.AuthType {
	case "bearer":
		if typed != "" {
			held.Bearer = typed
		}
		d.AuthType, d.AuthBearer, draft.HasSecret = pointer(models.UpstreamAuthBearer), &held.Bearer, held.Bearer != ""
	case "header":
		name := http.CanonicalHeaderKey(draft.HeaderName)
		for given := range held.Headers {
			if http.CanonicalHeaderKey(given) == name && typed != "" {
				delete(held.Headers, given)
				delete(d.Headers, given)
			}
		}
		if typed != "" {
			held.Headers[draft.HeaderName], d.Headers[draft.HeaderName] = typed, typed
		}
		draft.HasSecret = held.Headers[draft.HeaderName] != ""
	case "oauth":
		d.AuthType = pointer(models.UpstreamAuthOAuth)
	case "none":
	default:
		d.AuthType = pointer(models.AuthType(draft.AuthType))
	}
	for _, name := range slices.Sorted(maps.Keys(held.Headers)) {
		if name != draft.HeaderName {
			draft.Headers = append(draft.Headers, name)
		}
	}
	draft.Sealed = a.sealed(held)
	return &candidate{draft: draft, declaration: d}
}

// try connects to the candidates and notes on each why it cannot be added.
// Servers that need a person to agree first are not tried; untested leaves it
// out for all.
func (a *ServerWizard) try(ctx context.Context, candidates []*candidate, untested bool) {
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
		if untested || one.row.AuthType == models.UpstreamAuthOAuth {
			continue
		}
		trying.Go(func() error {
			if _, err := a.reader.Try(ctx, one.row); err != nil {
				one.draft.Failed = fault.From(err).Message
				one.draft.Advice, one.draft.AuthType = adviceFor(err, one.draft.AuthType)
			}
			return nil
		})
	}
	_ = trying.Wait() // no trial returns an error: each is noted on its candidate
}

func draftProblems(err error, header string) map[string]string {
	f := fault.From(err)
	if len(f.Fields) == 0 {
		return map[string]string{"": f.Message}
	}
	return credentialFields(maps.Clone(f.Fields), header)
}

// add stores the candidates that nothing is wrong with, and reads their tools.
// It returns an error that is about none of them.
func (a *ServerWizard) add(ctx context.Context, slug string, candidates []*candidate) error {
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
		if one.server.AuthType == models.UpstreamAuthOAuth {
			continue
		}
		// A failure is recorded with the server, where its page shows it.
		if result, err := a.reader.Sync(ctx, one.server.ID); err == nil {
			one.read, one.tools = true, result.Total
		}
	}
	return nil
}
