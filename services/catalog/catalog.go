// Package catalog is the public catalog of MCP servers and of templates: where
// its rows come from, who may change them, and how they are searched.
package catalog

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/background"
	"mcpgateway/services/catalog/sources"
	"mcpgateway/services/fault"
	"mcpgateway/services/notify"
	"mcpgateway/services/page"
)

// retryInterval is how long a failed attempt to read the catalog waits for the
// next.
const retryInterval = time.Second

// Catalog answers from memory what is in the catalog. It keeps one immutable
// snapshot, which is exchanged when the catalog has changed. It is safe for
// concurrent use.
type Catalog struct {
	db      *gorm.DB
	cursors *page.Cursors
	keyID   string
	log     *slog.Logger
	tasks   *background.Tasks

	current atomic.Pointer[snapshot]
	turn    chan struct{} // held while a snapshot is made
	changed chan struct{} // tells Run that there is something to read
}

// New returns an empty catalog over the database. cursors seals and opens the
// cursors of searches; keyID names the key they are sealed with, so that
// answers which hold cursors are not kept for longer than their key. tasks
// starts its goroutines and may be nil.
func New(db *gorm.DB, cursors *page.Cursors, keyID string, log *slog.Logger, tasks *background.Tasks) *Catalog {
	c := &Catalog{db: db, cursors: cursors, keyID: keyID, log: log, tasks: tasks, turn: make(chan struct{}, 1), changed: make(chan struct{}, 1)}
	empty, err := newSnapshot(-1, nil, nil, nil)
	if err != nil {
		empty = &snapshot{revision: -1}
	}
	c.current.Store(empty)
	return c
}

// Load reads the catalog, unless what is in memory is the newest. It returns
// the database's error as an INTERNAL fault and then keeps what it has.
func (c *Catalog) Load(ctx context.Context) error {
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return fault.Internal(ctx.Err())
	}
	newest, err := c.revision(ctx)
	if err != nil {
		return fault.Internal(err)
	}
	if newest == c.current.Load().revision {
		return nil
	}
	s, err := read(ctx, c.db, c.tasks)
	if err != nil {
		return fault.Internal(err)
	}
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

// Loaded reports whether the catalog was read at least once.
func (c *Catalog) Loaded() bool { return c.current.Load().revision >= 0 }

// smallCatalog is how many rows are read again within the change feed, so that
// a writer sees its change at once. More would hold up what else changes.
const smallCatalog = 5000

// Changed is the catalog's subscriber of the change feed. A large catalog is
// read by Run, and the old one serves until that is done.
func (c *Catalog) Changed(ctx context.Context, topic notify.Topic) error {
	if !topic.IsCatalog() {
		return nil
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
	default: // it is told already
	}
	return nil
}

// Run reads the catalog whenever Changed leaves that to it, until the context
// ends.
func (c *Catalog) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.changed:
		}
		for c.Load(ctx) != nil {
			c.log.WarnContext(ctx, "the catalog could not be read and is read again", "pause", retryInterval)
			select {
			case <-ctx.Done():
				return
			case <-time.After(retryInterval):
			}
		}
	}
}

// Version changes with anything that is public in the catalog, and with the
// key of its cursors: answers of equal versions are as good as each other.
func (c *Catalog) Version() string { return c.current.Load().version + c.keyID }

// Entry returns the entry with the id, or NOT_FOUND, also for one that is
// hidden or deleted. The caller must not change it.
func (c *Catalog) Entry(id string) (*models.CatalogEntry, error) {
	if e := c.current.Load().byID[id]; e != nil {
		return e, nil
	}
	return nil, fault.NotFound("catalog entry", sources.Clip(id, sources.MaxName))
}

// EntryByName returns the entry of a publisher with the server name, or
// NOT_FOUND as Entry does.
func (c *Catalog) EntryByName(publisher, server string) (*models.CatalogEntry, error) {
	name := publisher + "/" + server
	if e := c.current.Load().byName[name]; e != nil {
		return e, nil
	}
	return nil, fault.NotFound("catalog entry", sources.Clip(name, sources.MaxName))
}

// Template returns the template with the slug, or NOT_FOUND. The caller must
// not change it.
func (c *Catalog) Template(slug string) (*models.CatalogTemplate, error) {
	if t := c.current.Load().bySlug[slug]; t != nil {
		return t, nil
	}
	return nil, fault.NotFound("template", sources.Clip(slug, sources.MaxName))
}

// RelatedEntries returns the entries that a template names, in its order and
// without those that are not there. Of several with one server name it means
// the one whose publisher has that name too, else the one that lists show
// first.
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

// Featured returns the first featured entries, at most n.
func (c *Catalog) Featured(n int) []*models.CatalogEntry {
	entries := c.current.Load().entries
	end := 0
	for end < min(n, len(entries)) && entries[end].Featured {
		end++
	}
	return entries[:end:end]
}

// AllEntries returns every entry in the order of lists. The caller must not
// change the slice or the rows.
func (c *Catalog) AllEntries() []*models.CatalogEntry {
	s := c.current.Load()
	return s.entries[:len(s.entries):len(s.entries)]
}

// AllTemplates returns every template, the newest first. The caller must not
// change the slice or the rows.
func (c *Catalog) AllTemplates() []*models.CatalogTemplate {
	s := c.current.Load()
	return s.templates[:len(s.templates):len(s.templates)]
}
