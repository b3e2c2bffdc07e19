package catalog

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"hash"
	"io"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/background"
	"mcpgateway/services/catalog/index"
	"mcpgateway/services/catalog/sources"
	"mcpgateway/services/catalog/suggest"
	"mcpgateway/services/notify"
	"mcpgateway/services/query"
)

// snapshot is the catalog at one revision. It is immutable.
type snapshot struct {
	revision int64  // revision of the topic
	ownMark  string // changes with the gateway's own rows

	entries      []*models.CatalogEntry // visible entries, in list order without text
	sinking      []bool                 // of entries: whether pages list it after the others
	runs         []bool                 // of entries: whether a computer can run the server
	entryIndex   *index.Index
	entriesMark  string // changes with anything that searches of entries show, match or sort by
	byID         map[string]*models.CatalogEntry
	byName       map[string]*models.CatalogEntry
	byServerName map[string][]*models.CatalogEntry
	byAddress    map[string]*models.CatalogEntry // by the key of the remote URL

	templates     []*models.CatalogTemplate
	templateIndex *index.Index
	templatesMark string
	bySlug        map[string]*models.CatalogTemplate

	official []*models.CatalogEntry          // all entries including hidden and deleted ones, by full name
	version  string                          // changes with any public content
	stored   func() *storedRows              // for administrators, made when they are first needed
	gone     func() *storedRows              // hidden and deleted ones, made when they are first needed
	suggest  func() *suggest.Index           // of entries, built when it is first needed
	checks   map[string]*models.CatalogCheck // by entry id
}

// read loads the catalog in one transaction, and adds the gateway's own rows.
func read(ctx context.Context, db *gorm.DB, own []*models.CatalogEntry, tasks *background.Tasks) (*snapshot, error) {
	var entries []*models.CatalogEntry
	var templates []*models.CatalogTemplate
	var checks []*models.CatalogCheck
	var revision models.Revision
	err := db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		err := tx.First(&revision, "topic = ?", string(notify.Catalog())).Error
		if err != nil && !errors.Is(err, gorm.ErrRecordNotFound) {
			return err
		}
		if err := tx.Omit("document").Find(&entries).Error; err != nil {
			return err
		}
		if err := tx.Find(&checks).Error; err != nil {
			return err
		}
		return tx.Find(&templates).Error
	}, models.ConsistentRead(db))
	if err != nil {
		return nil, err
	}
	return newSnapshot(revision.Revision, withOwn(own, entries), templates, checks, tasks)
}

// newSnapshot builds a snapshot from rows, which it retains. For a large
// catalog it runs the two slowest steps in parallel: the marks, which cover all
// visible content, and the index.
func newSnapshot(revision int64, entries []*models.CatalogEntry, templates []*models.CatalogTemplate, checks []*models.CatalogCheck, tasks *background.Tasks) (*snapshot, error) {
	s := &snapshot{revision: revision, official: entries, checks: byEntry(checks)}
	s.fillTools()
	s.stored, s.gone = sync.OnceValue(s.storedRows), sync.OnceValue(s.withdrawnRows)
	s.suggest = sync.OnceValue(func() *suggest.Index { return suggest.New(s.entries) })
	s.sortTemplates(templates)
	shown := s.sortEntries(entries)
	var marks errgroup.Group
	marks.Go(tasks.ErrFunc("catalog marks", s.mark))
	s.indexEntries(shown)
	s.indexTemplates()
	if err := marks.Wait(); err != nil {
		return nil, err
	}
	return s, nil
}

// mark sets the order of the official entries and the marks.
func (s *snapshot) mark() error {
	slices.SortFunc(s.official, func(a, b *models.CatalogEntry) int {
		return cmp.Or(strings.Compare(a.PublisherName, b.PublisherName), strings.Compare(a.ServerName, b.ServerName))
	})
	all := sha256.New()
	if err := encode(all, s.official, func(e *models.CatalogEntry) any { return e }); err != nil {
		return err
	}
	visible := sha256.New()
	if err := encode(visible, s.entries, func(e *models.CatalogEntry) any { return NewEntryItem(e) }); err != nil {
		return err
	}
	s.entriesMark = digest(visible)
	visible.Reset()
	if err := encode(visible, s.templates, func(t *models.CatalogTemplate) any { return NewTemplateItem(t) }); err != nil {
		return err
	}
	s.templatesMark = digest(visible)
	if _, err := all.Write([]byte(s.templatesMark)); err != nil {
		return err
	}
	s.version = digest(all)
	return nil
}

// encode writes the visible content of each row to w.
func encode[T any](w io.Writer, rows []T, shows func(T) any) error {
	write := json.NewEncoder(w)
	for _, row := range rows {
		if err := write.Encode(shows(row)); err != nil {
			return err
		}
	}
	return nil
}

// sortedEntry is an entry with its sort keys.
type sortedEntry struct {
	*models.CatalogEntry
	title string
}

// sortEntries sets and returns the visible entries, in list order.
func (s *snapshot) sortEntries(rows []*models.CatalogEntry) []sortedEntry {
	shown := make([]sortedEntry, 0, len(rows))
	for _, e := range rows {
		if !e.Hidden && e.Status != models.CatalogDeleted {
			shown = append(shown, sortedEntry{e, query.Fold(e.ServerTitle)})
		}
	}
	slices.SortFunc(shown, func(a, b sortedEntry) int {
		return cmp.Or(trueFirst(a.Featured, b.Featured), trueFirst(a.Verified, b.Verified), strings.Compare(a.title, b.title), strings.Compare(a.ID, b.ID))
	})
	s.entries, s.runs, s.sinking = make([]*models.CatalogEntry, len(shown)), make([]bool, len(shown)), make([]bool, len(shown))
	for i, e := range shown {
		s.entries[i], s.runs[i], s.sinking[i] = e.CatalogEntry, e.RunsHere(), s.sinks(e.ID)
	}
	return shown
}

func (s *snapshot) indexEntries(shown []sortedEntry) {
	n := len(shown)
	s.byID, s.byName, s.byServerName = make(map[string]*models.CatalogEntry, n), make(map[string]*models.CatalogEntry, n), make(map[string][]*models.CatalogEntry, n)
	s.byAddress = make(map[string]*models.CatalogEntry, n)
	size := 0
	for _, e := range shown {
		s.byID[e.ID], s.byName[sources.FullName(e.CatalogEntry)] = e.CatalogEntry, e.CatalogEntry
		s.byServerName[e.ServerName] = append(s.byServerName[e.ServerName], e.CatalogEntry)
		if k := addressKey(e.RemoteURL); k != "" && s.byAddress[k] == nil {
			s.byAddress[k] = e.CatalogEntry
		}
		size += len(e.title) + len(e.ServerName) + len(e.PublisherTitle) + len(e.PublisherName) + len(e.Description) + 64
	}
	s.entryIndex = index.New(n, size, func(row int) index.Document { return entryDocument(shown[row].CatalogEntry, shown[row].title) })
}

// entryDocument returns the document of an entry. Its first name is the
// publisher's title.
func entryDocument(e *models.CatalogEntry, title string) index.Document {
	publisher, name, topics := query.Fold(e.PublisherTitle), query.Fold(e.PublisherName), foldAll(e.Tags)
	values := []index.Value{
		{Qualifier: "transport", Folded: e.ServerType},
		{Qualifier: "verified", Folded: boolText(e.Verified)},
		{Qualifier: "featured", Folded: boolText(e.Featured)},
		{Qualifier: "publisher", Folded: name},
		{Qualifier: "publisher", Folded: publisher},
	}
	return index.Document{
		Title: title, Names: []string{publisher, query.Fold(e.ServerName), name}, Topics: topics,
		Description: query.Fold(e.Description), Values: withTags(values, topics),
	}
}

func withTags(values []index.Value, tags []string) []index.Value {
	for _, tag := range tags {
		values = append(values, index.Value{Qualifier: "tag", Folded: tag})
	}
	return values
}

func (s *snapshot) sortTemplates(rows []*models.CatalogTemplate) {
	for _, t := range rows {
		if !t.Hidden && t.Status != models.CatalogDeleted {
			s.templates = append(s.templates, t)
		}
	}
	slices.SortFunc(s.templates, func(a, b *models.CatalogTemplate) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), strings.Compare(a.ID, b.ID))
	})
}

func (s *snapshot) indexTemplates() {
	s.bySlug = make(map[string]*models.CatalogTemplate, len(s.templates))
	for _, t := range s.templates {
		s.bySlug[t.Slug] = t
	}
	s.templateIndex = index.New(len(s.templates), 0, func(row int) index.Document { return templateDocument(s.templates[row]) })
}

func templateDocument(t *models.CatalogTemplate) index.Document {
	category, tags := query.Fold(t.Category), foldAll(t.Tags)
	return index.Document{
		Title: query.Fold(t.Title), Names: append([]string{query.Fold(t.Slug)}, foldAll(t.RelatedServerNames)...),
		Topics: append([]string{query.Fold(t.Role), category}, tags...), Description: query.Fold(t.Description),
		Values: withTags([]index.Value{{Qualifier: "category", Folded: category}}, tags),
	}
}

func foldAll(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = query.Fold(s)
	}
	return out
}

func trueFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// boolText returns a boolean as the value of a qualifier.
func boolText(b bool) string {
	if b {
		return "true"
	}
	return "false"
}

func digest(h hash.Hash) string { return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:15]) }
