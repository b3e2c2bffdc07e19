package catalog

import (
	"context"
	"strconv"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/catalog/index"
	"mcpgateway/services/fault"
	"mcpgateway/services/page"
	"mcpgateway/services/query"
)

// rankingVersion is part of every cursor's revision. Increment it when the
// order of results changes, so that older cursors become stale.
const rankingVersion = "1 "

// codeUnknownTransport is the code of the warning about an unknown transport.
const codeUnknownTransport = "UNKNOWN_TRANSPORT"

// Search is a request for one page of matching rows.
type Search struct {
	Text     string // in the grammar of query.Registry or query.Templates
	Limit    int    // rows per page, at least 1
	Offset   int    // rows before the page, unless Continue is set
	Continue bool   // whether this is not the first page
	Cursor   string // cursor of the previous page, if Continue is set
}

// Result is one page of the rows that match a query.
type Result[T any] struct {
	Rows       []T // the caller must not modify them
	Total      int // rows on all pages
	Offset     int // rows on the pages before
	NextCursor string
	Warnings   []fault.Warning
}

// Entries returns a page of the entries that match a query (spec, "Public
// catalog: registry"). It returns the faults of the query grammar,
// INVALID_CURSOR and CURSOR_STALE. With text, entries are ordered by relevance.
// Otherwise featured entries come first, then verified ones, then by title.
func (c *Catalog) Entries(ctx context.Context, search Search) (*Result[*models.CatalogEntry], error) {
	return find(ctx, c, searchTarget[*models.CatalogEntry]{
		name: "registry", grammar: query.Registry(),
		of: func(s *snapshot) (*index.Index, []*models.CatalogEntry, string) {
			return s.entryIndex, s.entries, s.entriesMark
		},
	}, search)
}

// Templates returns a page of the templates that match a query (spec, "Public
// catalog: templates"), with the faults of Entries. Without text the newest
// come first.
func (c *Catalog) Templates(ctx context.Context, search Search) (*Result[*models.CatalogTemplate], error) {
	return find(ctx, c, searchTarget[*models.CatalogTemplate]{
		name: "templates", grammar: query.Templates(),
		of: func(s *snapshot) (*index.Index, []*models.CatalogTemplate, string) {
			return s.templateIndex, s.templates, s.templatesMark
		},
	}, search)
}

// searchTarget describes the rows that are searched.
type searchTarget[T any] struct {
	name    string
	grammar query.Grammar
	of      func(*snapshot) (x *index.Index, rows []T, mark string)
}

func find[T any](ctx context.Context, c *Catalog, on searchTarget[T], search Search) (*Result[T], error) {
	parsed, err := on.grammar.Parse(search.Text)
	if err != nil {
		return nil, err
	}
	binding := page.Binding{Surface: on.name, Query: parsed.Canonical()}
	x, rows, mark := on.of(c.current.Load())
	offset := search.Offset
	if search.Continue {
		sealed, err := c.cursors.Revision(binding, search.Cursor)
		if err != nil {
			return nil, err
		}
		if sealed != rankingVersion+mark {
			// The cursor may come from a process with a newer catalog.
			if err := c.Load(ctx); err != nil {
				return nil, err
			}
			x, rows, mark = on.of(c.current.Load())
		}
		position, err := c.cursors.Open(binding, rankingVersion+mark, search.Cursor)
		if err != nil {
			return nil, err
		}
		if offset, err = strconv.Atoi(position); err != nil {
			return nil, fault.Internal(err)
		}
	}
	hits, total := x.Find(parsed, offset, search.Limit)
	found := &Result[T]{Rows: make([]T, len(hits)), Total: total, Offset: offset, Warnings: warnings(parsed)}
	for i, row := range hits {
		found.Rows[i] = rows[row]
	}
	if end := offset + len(hits); end < total {
		if found.NextCursor, err = c.cursors.Seal(binding, rankingVersion+mark, strconv.Itoa(end)); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// warnings returns the warnings of the query, and one per unknown transport.
func warnings(q *query.Query) []fault.Warning {
	all := q.Warnings[:len(q.Warnings):len(q.Warnings)]
	for i := range q.Clauses {
		c := &q.Clauses[i]
		if c.Qualifier != "transport" || c.Folded == "http" || c.Folded == "sse" || c.Folded == "stdio" {
			continue
		}
		span := c.Span
		all = append(all, fault.Warning{Code: codeUnknownTransport, Message: "Unknown transport. Use http, sse or stdio.", Span: &span})
	}
	return all
}

// EntryItem is an entry in the form of searches: only public metadata (spec,
// "Registry item"), and the description (contract, "Catalog query grammar").
type EntryItem struct {
	ID             string   `json:"id"`
	PublisherName  string   `json:"publisherName"`
	PublisherTitle string   `json:"publisherTitle"`
	ServerName     string   `json:"serverName"`
	ServerTitle    string   `json:"serverTitle"`
	ServerType     string   `json:"serverType"`
	Tags           []string `json:"tags"`
	Verified       bool     `json:"verified"`
	Featured       bool     `json:"featured"`
	IconURL        *string  `json:"iconUrl"`
	RepoURL        *string  `json:"repoUrl"`
	DocsURL        *string  `json:"docsUrl"`
	WebsiteURL     *string  `json:"websiteUrl"`
	Description    string   `json:"description"`
}

// NewEntryItem returns the item of an entry.
func NewEntryItem(e *models.CatalogEntry) EntryItem {
	return EntryItem{
		ID: e.ID, PublisherName: e.PublisherName, PublisherTitle: e.PublisherTitle, ServerName: e.ServerName, ServerTitle: e.ServerTitle,
		ServerType: e.ServerType, Tags: list(e.Tags), Verified: e.Verified, Featured: e.Featured,
		IconURL: optional(e.IconURL), RepoURL: optional(e.RepoURL), DocsURL: optional(e.DocsURL), WebsiteURL: optional(e.WebsiteURL),
		Description: e.Description,
	}
}

// TemplateItem is a template in the form of searches (contract, "Catalog query
// grammar").
type TemplateItem struct {
	ID                    string    `json:"id"`
	Slug                  string    `json:"slug"`
	Title                 string    `json:"title"`
	Description           string    `json:"description"`
	Role                  string    `json:"role"`
	Category              string    `json:"category"`
	Difficulty            string    `json:"difficulty"`
	EstimatedSetupMinutes int64     `json:"estimatedSetupMinutes"`
	Tags                  []string  `json:"tags"`
	RelatedServerNames    []string  `json:"relatedServerNames"`
	Steps                 []string  `json:"steps"`
	CreatedAt             time.Time `json:"createdAt"`
}

// NewTemplateItem returns the item of a template.
func NewTemplateItem(t *models.CatalogTemplate) TemplateItem {
	return TemplateItem{
		ID: t.ID, Slug: t.Slug, Title: t.Title, Description: t.Description, Role: t.Role, Category: t.Category, Difficulty: t.Difficulty,
		EstimatedSetupMinutes: t.EstimatedSetupMinutes, Tags: list(t.Tags), RelatedServerNames: list(t.RelatedServerNames), Steps: list(t.Steps),
		CreatedAt: t.CreatedAt.UTC(),
	}
}

func list(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
