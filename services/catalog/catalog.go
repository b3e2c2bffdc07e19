// Package catalog implements the public catalog of MCP servers and templates:
// its sources, its administration and its search.
package catalog

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/background"
	"mcpgateway/services/catalog/index"
	"mcpgateway/services/catalog/sources"
	"mcpgateway/services/fault"
	"mcpgateway/services/notify"
	"mcpgateway/services/page"
)

// retryInterval is the pause after a failed attempt to load the catalog.
const retryInterval = time.Second

// Catalog serves the catalog from memory. It holds one immutable snapshot and
// replaces it when the catalog changes. It is safe for concurrent use.
type Catalog struct {
	db      *gorm.DB
	cursors *page.Cursors
	keyID   string
	log     *slog.Logger
	tasks   *background.Tasks
	own     func(context.Context) []*models.CatalogEntry // nil without own rows

	current atomic.Pointer[snapshot]
	sem     chan struct{} // held while a snapshot is built
	changed chan struct{} // signals Run to load the catalog
}

// New returns an empty catalog on db. cursors seals and opens the cursors of
// searches. keyID is the id of their key, which is part of Version, so that
// responses with cursors aren't cached for longer than the key is used. tasks
// starts the goroutines and may be nil.
func New(db *gorm.DB, cursors *page.Cursors, keyID string, log *slog.Logger, tasks *background.Tasks, options ...Option) *Catalog {
	c := &Catalog{db: db, cursors: cursors, keyID: keyID, log: log, tasks: tasks, sem: make(chan struct{}, 1), changed: make(chan struct{}, 1)}
	for _, option := range options {
		option(c)
	}
	empty, err := newSnapshot(-1, nil, nil, nil, nil)
	if err != nil {
		empty = &snapshot{revision: -1, stored: func() *storedRows { return &storedRows{index: index.New(0, 0, nil)} }}
	}
	c.current.Store(empty)
	return c
}

// Load loads the catalog unless the one in memory is current. On a database
// error it returns an INTERNAL fault and serves the old one.
func (c *Catalog) Load(ctx context.Context) error {
	select {
	case c.sem <- struct{}{}:
		defer func() { <-c.sem }()
	case <-ctx.Done():
		return fault.Internal(ctx.Err())
	}
	newest, err := c.revision(ctx)
	if err != nil {
		return fault.Internal(err)
	}
	own, ownMark, err := c.ownRows(ctx)
	if err != nil {
		return fault.Internal(err)
	}
	if now := c.current.Load(); newest == now.revision && ownMark == now.ownMark {
		return nil
	}
	s, err := read(ctx, c.db, own, c.tasks)
	if err != nil {
		return fault.Internal(err)
	}
	s.ownMark = ownMark
	c.current.Store(s)
	return nil
}

// revision returns the revision of the stored catalog.
func (c *Catalog) revision(ctx context.Context) (int64, error) {
	var row models.Revision
	err := c.db.WithContext(ctx).First(&row, "topic = ?", string(notify.Catalog())).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return 0, nil
	}
	return row.Revision, err
}

// Loaded reports whether the catalog has been loaded at least once.
func (c *Catalog) Loaded() bool { return c.current.Load().revision >= 0 }

// smallCatalog is the maximum number of rows that are reloaded within the
// change feed, so that a writer sees its change immediately. More rows would
// delay other changes.
const smallCatalog = 5000

// Changed is the catalog's subscriber of the change feed. Run loads a large
// catalog; the old one is served until then.
func (c *Catalog) Changed(ctx context.Context, topic notify.Topic) error {
	if concerned, err := c.concerns(ctx, topic); err != nil || !concerned {
		return err
	}
	if s := c.current.Load(); len(s.official) <= smallCatalog {
		var rows int64
		if err := c.db.WithContext(ctx).Model(&models.CatalogEntry{}).Count(&rows).Error; err != nil {
			return err
		}
		if rows <= smallCatalog {
			return c.Load(ctx)
		}
	}
	select {
	case c.changed <- struct{}{}:
	default: // already signaled
	}
	return nil
}

// Run loads the catalog when Changed requests it, until the context ends.
func (c *Catalog) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.changed:
		}
		for c.Load(ctx) != nil {
			c.log.WarnContext(ctx, "catalog load failed", "pause", retryInterval)
			select {
			case <-ctx.Done():
				return
			case <-time.After(retryInterval):
			}
		}
	}
}

// Version changes with any public content of the catalog and with the key of
// its cursors. Responses with equal versions are interchangeable.
func (c *Catalog) Version() string { return c.current.Load().version + c.keyID }

// Entry returns the entry with the id. It returns NOT_FOUND for an unknown,
// hidden or deleted entry. The caller must not modify the result.
func (c *Catalog) Entry(id string) (*models.CatalogEntry, error) {
	if e := c.current.Load().byID[id]; e != nil {
		return e, nil
	}
	return nil, fault.NotFound("catalog entry", sources.Clip(id, sources.MaxName))
}

// EntryByName returns the entry of a publisher with the server name, or
// NOT_FOUND like Entry.
func (c *Catalog) EntryByName(publisher, server string) (*models.CatalogEntry, error) {
	name := publisher + "/" + server
	if e := c.current.Load().byName[name]; e != nil {
		return e, nil
	}
	return nil, fault.NotFound("catalog entry", sources.Clip(name, sources.MaxName))
}

// EntryAt returns the first entry in list order with a remote URL, or nil. Case
// and a final slash of the URL don't matter.
func (c *Catalog) EntryAt(address string) *models.CatalogEntry {
	return c.current.Load().byAddress[addressKey(address)]
}

func addressKey(address string) string { return strings.ToLower(strings.TrimSuffix(address, "/")) }

// Template returns the template with the slug, or NOT_FOUND. The caller must
// not modify it.
func (c *Catalog) Template(slug string) (*models.CatalogTemplate, error) {
	if t := c.current.Load().bySlug[slug]; t != nil {
		return t, nil
	}
	return nil, fault.NotFound("template", sources.Clip(slug, sources.MaxName))
}

// RelatedEntries returns the entries that a template names, in its order,
// without missing ones. Of several entries with a server name it prefers the
// one whose publisher also has that name, then the first in list order.
func (c *Catalog) RelatedEntries(t *models.CatalogTemplate) []*models.CatalogEntry {
	s := c.current.Load()
	related := make([]*models.CatalogEntry, 0, len(t.RelatedServerNames))
	for _, name := range t.RelatedServerNames {
		if same := s.byName[name+"/"+name]; same != nil {
			related = append(related, same)
		} else if named := s.byServerName[name]; len(named) > 0 {
			related = append(related, named[0])
		}
	}
	return related
}

// AllEntries returns every entry in list order. The caller must not modify the
// slice or the rows.
func (c *Catalog) AllEntries() []*models.CatalogEntry {
	s := c.current.Load()
	return s.entries[:len(s.entries):len(s.entries)]
}

// AllTemplates returns every template, newest first. The caller must not modify
// the slice or the rows.
func (c *Catalog) AllTemplates() []*models.CatalogTemplate {
	s := c.current.Load()
	return s.templates[:len(s.templates):len(s.templates)]
}
