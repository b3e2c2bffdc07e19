package catalog

import (
	"cmp"
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/catalog/sources"
	"mcpgateway/services/fault"
)

// officialSchema is the schema of the server objects created here.
const officialSchema = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"

// officialDescription is the schema's maximum length of a description, in
// characters.
const officialDescription = 100

// OfficialQuery is a request for a page of GET /v0.1/servers (official registry
// API).
type OfficialQuery struct {
	Limit          int    // at least 1
	Cursor         string // of the previous page, or empty
	Search         string // substring of the name
	Version        string // latest, an exact version, or empty
	UpdatedSince   time.Time
	IncludeDeleted bool // implied by UpdatedSince
	Of             *Selection
}

// OfficialList is a page of servers in the official registry's format.
type OfficialList struct {
	Servers  []OfficialServer `json:"servers"`
	Metadata OfficialMetadata `json:"metadata"`
}

// OfficialMetadata is the paging metadata of a list.
type OfficialMetadata struct {
	NextCursor string `json:"nextCursor,omitempty"`
	Count      int    `json:"count"`
}

// OfficialServer is a server with this registry's metadata.
type OfficialServer struct {
	Server json.RawMessage         `json:"server"`
	Meta   map[string]OfficialMark `json:"_meta"`
}

// OfficialMark is the registry's metadata of a version of a server.
type OfficialMark struct {
	Status          string    `json:"status"`
	StatusChangedAt time.Time `json:"statusChangedAt"`
	PublishedAt     time.Time `json:"publishedAt"`
	UpdatedAt       time.Time `json:"updatedAt"`
	IsLatest        bool      `json:"isLatest"`
}

// OfficialServers returns a page of servers by name. A cursor is the last name
// of the previous page, so it never becomes stale. Hidden servers count as
// deleted. It returns INVALID_CURSOR for a cursor that isn't a name.
func (c *Catalog) OfficialServers(ctx context.Context, q OfficialQuery) (*OfficialList, error) {
	s := c.current.Load()
	from := 0
	if q.Cursor != "" {
		publisher, server, ok := strings.Cut(q.Cursor, "/")
		if !ok || len(q.Cursor) > sources.MaxName || !sources.ValidName(publisher, false) || !sources.ValidName(server, true) {
			f := fault.New(fault.KindInvalid, fault.CodeInvalidCursor, "Invalid cursor. Retry without it.")
			f.Restart = true
			return nil, f
		}
		from = s.after(publisher, server)
	}
	selected, err := q.Of.in(s, q.deleted())
	if err != nil {
		return nil, err
	}
	search := strings.ToLower(q.Search)
	var page []*models.CatalogEntry
	more := false
	for _, e := range s.official[from:] {
		if !q.matches(e, search) || !selected(e) {
			continue
		}
		if more = len(page) == q.Limit; more {
			break
		}
		page = append(page, e)
	}
	list, err := c.officialList(ctx, page, q.Of)
	if err == nil && more {
		list.Metadata.NextCursor = sources.FullName(page[len(page)-1])
	}
	return list, err
}

// deleted reports whether the page has withdrawn entries.
func (q *OfficialQuery) deleted() bool { return q.IncludeDeleted || !q.UpdatedSince.IsZero() }

func (q *OfficialQuery) matches(e *models.CatalogEntry, search string) bool {
	return (!withdrawn(e) || q.deleted()) &&
		(q.UpdatedSince.IsZero() || !q.Of.updated(e).Before(q.UpdatedSince)) &&
		(q.Version == "" || q.Version == "latest" || q.Version == e.Version) &&
		(search == "" || strings.Contains(strings.ToLower(sources.FullName(e)), search))
}

// withdrawn reports whether an entry is listed only as deleted.
func withdrawn(e *models.CatalogEntry) bool { return e.Hidden || e.Status == models.CatalogDeleted }

// OfficialVersion names versions of a server.
type OfficialVersion struct {
	Name           string // publisherName/serverName
	Version        string // latest, an exact version, or empty for all
	IncludeDeleted bool
	Of             *Selection
}

// OfficialVersions returns the versions of a server, or NOT_FOUND. The catalog
// stores only the latest.
func (c *Catalog) OfficialVersions(ctx context.Context, q OfficialVersion) (*OfficialList, error) {
	s := c.current.Load()
	selected, err := q.Of.in(s, q.IncludeDeleted)
	if err != nil {
		return nil, err
	}
	e := s.officialByName(q.Name, q.IncludeDeleted)
	switch exact := q.Version != "" && q.Version != "latest"; {
	case e == nil || !selected(e):
		return nil, fault.NotFound("server", sources.Clip(q.Name, sources.MaxName))
	case exact && q.Version != e.Version:
		return nil, fault.NotFound("version", sources.Clip(q.Version, sources.MaxName))
	}
	return c.officialList(ctx, []*models.CatalogEntry{e}, q.Of)
}

// officialList returns the rows of a selection with their documents. Imported documents are
// loaded by id and returned unchanged if they are in the official format; the
// others are created from the row. One that isn't would make editors reject the
// whole page.
func (c *Catalog) officialList(ctx context.Context, rows []*models.CatalogEntry, of *Selection) (*OfficialList, error) {
	documents, err := c.documents(ctx, rows)
	if err != nil {
		return nil, err
	}
	out := &OfficialList{Servers: make([]OfficialServer, len(rows)), Metadata: OfficialMetadata{Count: len(rows)}}
	for i, e := range rows {
		status := string(e.Status)
		server := documents[e.ID]
		switch {
		case withdrawn(e):
			status = string(models.CatalogDeleted)
			server, err = json.Marshal(serverDocument{Schema: officialSchema, Name: sources.FullName(e), Description: "No longer listed.", Version: e.Version})
		case e.IsOwn():
			server, err = json.Marshal(newOwnDocument(e))
		case e.Locked || !sources.Conforms(server):
			server, err = json.Marshal(newServerDocument(e))
		}
		if err != nil {
			return nil, fault.Internal(err)
		}
		out.Servers[i] = OfficialServer{server, map[string]OfficialMark{sources.OfficialMeta: {
			Status: status, StatusChangedAt: e.UpdatedAt.UTC(), PublishedAt: e.CreatedAt.UTC(), UpdatedAt: of.updated(e).UTC(), IsLatest: true,
		}}}
	}
	return out, nil
}

// documents reads the imported documents of a page's rows, by id.
func (c *Catalog) documents(ctx context.Context, rows []*models.CatalogEntry) (map[string]json.RawMessage, error) {
	ids := make([]string, 0, len(rows))
	for _, e := range rows {
		if e.SourceID != SourceDefault && e.SourceID != SourceFile && !e.IsOwn() && !withdrawn(e) {
			ids = append(ids, e.ID)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	var read []models.CatalogEntry
	if err := c.db.WithContext(ctx).Select("id", "document").Find(&read, "id IN ? AND document <> ''", ids).Error; err != nil {
		return nil, fault.Internal(err)
	}
	documents := make(map[string]json.RawMessage, len(read))
	for _, row := range read {
		documents[row.ID] = json.RawMessage(row.Document)
	}
	return documents, nil
}

// serverDocument contains the members of server.json that the catalog stores
// (official registry API, ServerDetail).
type serverDocument struct {
	Schema      string           `json:"$schema"`
	Name        string           `json:"name"`
	Title       string           `json:"title,omitempty"`
	Description string           `json:"description"`
	Version     string           `json:"version"`
	WebsiteURL  string           `json:"websiteUrl,omitempty"`
	Repository  *repository      `json:"repository,omitempty"`
	Icons       []icon           `json:"icons,omitempty"`
	Remotes     []remoteDocument `json:"remotes,omitempty"`
	Packages    []packageOf      `json:"packages,omitempty"`
}

type repository struct {
	URL    string `json:"url"`
	Source string `json:"source"`
}

type icon struct {
	Src string `json:"src"`
}

type remoteDocument struct {
	Type    string  `json:"type"`
	URL     string  `json:"url"`
	Headers []input `json:"headers,omitempty"`
}

type packageOf struct {
	RegistryType string            `json:"registryType"`
	Identifier   string            `json:"identifier"`
	Transport    map[string]string `json:"transport"`
	Arguments    []argument        `json:"packageArguments,omitempty"`
	Environment  []input           `json:"environmentVariables,omitempty"`
}

// argument is a word of a command line (PositionalArgument of the schema). It
// has a value, or a hint for the one that users add.
type argument struct {
	Type        string `json:"type"`
	Value       string `json:"value,omitempty"`
	Hint        string `json:"valueHint,omitempty"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"isRequired,omitempty"`
}

type input struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"isRequired"`
	Secret      bool   `json:"isSecret"`
}

// newServerDocument creates the document of an entry that was imported without
// one.
func newServerDocument(e *models.CatalogEntry) serverDocument {
	d := serverDocument{
		Schema: officialSchema, Name: sources.FullName(e), Title: sources.Clean(e.ServerTitle, officialDescription),
		Description: sources.Clean(cmp.Or(e.Description, e.ServerTitle), officialDescription), Version: e.Version, WebsiteURL: sources.URI(e.WebsiteURL),
	}
	if e.RepoURL != "" {
		d.Repository = &repository{URL: sources.URI(e.RepoURL), Source: repositoryHost(e.RepoURL)}
	}
	if src := sources.URI(e.IconURL); src != "" && len(src) <= 255 { // the schema's limit
		d.Icons = []icon{{src}}
	}
	if e.RemoteURL != "" {
		kind := map[string]string{"http": "streamable-http", "sse": "sse"}[e.ServerType]
		d.Remotes = append(d.Remotes, remoteDocument{kind, e.RemoteURL, headersOf(e)})
	}
	if e.AltRemoteURL != "" {
		d.Remotes = append(d.Remotes, remoteDocument{"sse", e.AltRemoteURL, headersOf(e)})
	}
	for _, p := range e.AllPackages() {
		d.Packages = append(d.Packages, packageOf{
			RegistryType: p.Type, Identifier: p.Identifier, Transport: map[string]string{"type": "stdio"}, Arguments: argumentsOf(p), Environment: environmentOf(e),
		})
	}
	return d
}

// argumentsOf returns the words after a package's identifier.
func argumentsOf(p models.CatalogPackage) []argument {
	var list []argument
	for _, word := range p.Args {
		list = append(list, argument{Type: "positional", Value: word})
	}
	if p.Needs != "" {
		list = append(list, argument{Type: "positional", Hint: "value", Description: p.Needs, Required: true})
	}
	return list
}

// environmentOf returns the variables of a program: those that the source
// describes, and names of secrets only.
func environmentOf(e *models.CatalogEntry) []input {
	var list []input
	for _, v := range e.Variables {
		list = append(list, input{v.Name, v.Description, v.Required != nil && *v.Required, v.Secret})
	}
	for _, name := range e.SecretEnv {
		if !slices.ContainsFunc(e.Variables, func(v models.CatalogVariable) bool { return v.Name == name }) {
			list = append(list, input{Name: name, Secret: true})
		}
	}
	return list
}

func headersOf(e *models.CatalogEntry) []input {
	switch {
	case e.AuthType == "bearer":
		return []input{{Name: "Authorization", Required: true, Secret: true}}
	case e.AuthType == "header" && e.AuthHeader != "":
		return []input{{Name: e.AuthHeader, Required: true, Secret: true}}
	}
	return nil
}

// repositoryHost returns the short name of a code host, as used by the format.
func repositoryHost(link string) string {
	u, err := url.Parse(link)
	if err != nil {
		return "git"
	}
	switch host := strings.ToLower(u.Hostname()); {
	case host == "github.com" || strings.HasSuffix(host, ".github.com"):
		return "github"
	case host == "gitlab.com":
		return "gitlab"
	default:
		return cmp.Or(host, "git")
	}
}
