package catalog

import (
	"context"
	"crypto/sha256"
	"slices"

	"mcpgateway/models"
	"mcpgateway/services/catalog/sources"
	"mcpgateway/services/notify"
)

// Option is an optional part of a catalog.
type Option func(*Catalog)

// WithOwn adds the gateway's own rows to the catalog, such as those of
// published.Projects. The catalog calls rows after every change of a project and
// compares the result. It retains the rows and doesn't modify them.
func WithOwn(rows func(context.Context) []*models.CatalogEntry) Option {
	return func(c *Catalog) { c.own = rows }
}

// ownRows returns the gateway's own rows, and a mark that changes with them.
func (c *Catalog) ownRows(ctx context.Context) ([]*models.CatalogEntry, string, error) {
	if c.own == nil {
		return nil, "", nil
	}
	rows := c.own(ctx)
	h := sha256.New()
	if err := encode(h, rows, func(e *models.CatalogEntry) any { return e }); err != nil {
		return nil, "", err
	}
	return rows, digest(h), nil
}

// concerns reports whether a change can change the catalog: of its stored rows,
// or of a project that is or was published.
func (c *Catalog) concerns(ctx context.Context, topic notify.Topic) (bool, error) {
	if topic.IsCatalog() {
		return true, nil
	}
	if _, ok := topic.ToolsetOf(); !ok || c.own == nil || !c.Loaded() {
		return false, nil
	}
	_, mark, err := c.ownRows(ctx)
	return mark != c.current.Load().ownMark, err
}

// withOwn returns the own rows and the stored ones. Own rows replace stored ones
// with their names.
func withOwn(own, stored []*models.CatalogEntry) []*models.CatalogEntry {
	if len(own) == 0 {
		return stored
	}
	taken := make(map[string]bool, len(own))
	for _, e := range own {
		taken[sources.FullName(e)] = true
	}
	stored = slices.DeleteFunc(stored, func(e *models.CatalogEntry) bool { return taken[sources.FullName(e)] })
	return append(own[:len(own):len(own)], stored...)
}

// ownDocument is the document of an own row. Its remote server describes the
// header with an API key, so that editors request only the key.
type ownDocument struct {
	serverDocument
	Remotes []ownRemote `json:"remotes"`
}

type ownRemote struct {
	Type    string      `json:"type"`
	URL     string      `json:"url"`
	Headers []ownHeader `json:"headers,omitempty"`
}

type ownHeader struct {
	Name        string                 `json:"name"`
	Description string                 `json:"description"`
	Required    bool                   `json:"isRequired"`
	Secret      bool                   `json:"isSecret"`
	Value       string                 `json:"value"` // {api_key} stands for the variable
	Variables   map[string]ownVariable `json:"variables"`
}

type ownVariable struct {
	Description string `json:"description"`
	Placeholder string `json:"placeholder"`
	Required    bool   `json:"isRequired"`
	Secret      bool   `json:"isSecret"`
}

func newOwnDocument(e *models.CatalogEntry) ownDocument {
	remote := ownRemote{Type: "streamable-http", URL: e.RemoteURL}
	if e.AuthType == "bearer" {
		remote.Headers = []ownHeader{{
			Name: "Authorization", Description: "Bearer, followed by an API key of this gateway", Required: true, Secret: true, Value: "Bearer {api_key}",
			Variables: map[string]ownVariable{"api_key": {Description: "API key of this gateway", Placeholder: "gwk_…", Required: true, Secret: true}},
		}}
	}
	return ownDocument{newServerDocument(e), []ownRemote{remote}}
}
