package public

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"mcpgateway/models"
	"mcpgateway/services/catalog"
	"mcpgateway/services/fault"
	"mcpgateway/views/paths"
	"mcpgateway/views/public"
	"mcpgateway/views/ui"
	"mcpgateway/web"
)

// Limits of machine-readable lists. A sitemap may have 50,000 URLs and 50 MB
// (sitemaps protocol 0.9).
const (
	sitemapRows = 20_000
	feedRows    = 50
	feedCache   = "public, max-age=300"
)

// Feeds serves the machine-readable lists of the catalog.
type Feeds struct {
	pages   *Pages
	catalog *catalog.Catalog
}

// NewFeeds returns the handlers.
func NewFeeds(pages *Pages, c *catalog.Catalog) *Feeds { return &Feeds{pages: pages, catalog: c} }

// Robots serves GET /robots.txt (RFC 9309). It allows the catalog and disallows
// pages that require a sign-in.
func (f *Feeds) Robots(c *fiber.Ctx) error {
	c.Set(fiber.HeaderContentType, fiber.MIMETextPlainCharsetUTF8)
	c.Set(fiber.HeaderCacheControl, feedCache)
	return c.SendString("User-agent: *\nDisallow: /admin\nDisallow: /account\nDisallow: /login\nDisallow: /setup\nDisallow: /oauth/\nDisallow: /v1/\n\nSitemap: " +
		f.pages.absolute("/sitemap.xml") + "\n")
}

type sitemapPlace struct {
	Location string `xml:"loc"`
	Modified string `xml:"lastmod,omitempty"`
}

type sitemap struct {
	XMLName xml.Name       `xml:"http://www.sitemaps.org/schemas/sitemap/0.9 urlset"`
	Places  []sitemapPlace `xml:"url"`
}

type sitemapIndex struct {
	XMLName xml.Name       `xml:"http://www.sitemaps.org/schemas/sitemap/0.9 sitemapindex"`
	Places  []sitemapPlace `xml:"sitemap"`
}

// Sitemap serves GET /sitemap.xml: every page of the catalog, or an index of
// several files if there are too many.
func (f *Feeds) Sitemap(c *fiber.Ctx) error {
	if f.unchanged(c) {
		return nil
	}
	rows := f.rows()
	if rows <= sitemapRows {
		return sendXML(c, fiber.MIMEApplicationXMLCharsetUTF8, sitemap{Places: f.places(0, rows)})
	}
	index := sitemapIndex{}
	for n := range (rows + sitemapRows - 1) / sitemapRows {
		index.Places = append(index.Places, sitemapPlace{Location: f.pages.absolute("/sitemap/" + strconv.Itoa(n+1) + ".xml")})
	}
	return sendXML(c, fiber.MIMEApplicationXMLCharsetUTF8, index)
}

// SitemapPart serves GET /sitemap/:part.xml: one file of a large catalog. The
// first part is 1.
func (f *Feeds) SitemapPart(c *fiber.Ctx) error {
	rows := f.rows()
	part, err := strconv.Atoi(c.Params("part"))
	if err != nil || part < 1 || (part-1)*sitemapRows >= rows || part > rows {
		return fault.NotFound("sitemap", clipped(c.Params("part")))
	}
	if f.unchanged(c) {
		return nil
	}
	return sendXML(c, fiber.MIMEApplicationXMLCharsetUTF8, sitemap{Places: f.places((part-1)*sitemapRows, min(part*sitemapRows, rows))})
}

// heads returns the pages that exist independently of the catalog.
func heads() []string { return []string{"/", paths.Registry, paths.Templates} }

// rows returns the number of pages in the sitemap.
func (f *Feeds) rows() int {
	return len(heads()) + len(f.catalog.AllTemplates()) + len(f.catalog.AllEntries())
}

// places returns pages[from:to] of the sitemap. It returns fewer if the catalog
// has shrunk since the indexes were chosen.
func (f *Feeds) places(from, to int) []sitemapPlace {
	entries, templates := f.catalog.AllEntries(), f.catalog.AllTemplates()
	first := heads()
	var places []sitemapPlace
	for i := from; i < to; i++ {
		switch t, e := i-len(first), i-len(first)-len(templates); {
		case i < len(first):
			places = append(places, sitemapPlace{Location: f.pages.absolute(first[i])})
		case t < len(templates):
			places = append(places, f.place(public.Template{CatalogTemplate: templates[t]}.Path(), templates[t].UpdatedAt))
		case e < len(entries):
			places = append(places, f.place(public.CatalogEntry{CatalogEntry: entries[e]}.Path(), entries[e].UpdatedAt))
		}
	}
	return places
}

func (f *Feeds) place(path string, at time.Time) sitemapPlace {
	return sitemapPlace{Location: f.pages.absolute(path), Modified: at.UTC().Format(time.RFC3339)}
}

type atomLink struct {
	Rel  string `xml:"rel,attr"`
	Type string `xml:"type,attr,omitempty"`
	Href string `xml:"href,attr"`
}

type atomCategory struct {
	Term string `xml:"term,attr"`
}

type atomEntry struct {
	ID         string         `xml:"id"`
	Title      string         `xml:"title"`
	Published  string         `xml:"published"`
	Updated    string         `xml:"updated"`
	Link       atomLink       `xml:"link"`
	Author     string         `xml:"author>name"`
	Categories []atomCategory `xml:"category"`
	Summary    string         `xml:"summary"`
	created    time.Time
	updated    time.Time
}

type atomFeed struct {
	XMLName xml.Name    `xml:"http://www.w3.org/2005/Atom feed"`
	ID      string      `xml:"id"`
	Title   string      `xml:"title"`
	Updated string      `xml:"updated"`
	Author  string      `xml:"author>name"`
	Links   []atomLink  `xml:"link"`
	Entries []atomEntry `xml:"entry"`
}

// Atom serves GET /feed.atom (RFC 4287): the newest servers and templates. The
// ID of an entry never changes.
func (f *Feeds) Atom(c *fiber.Ctx) error {
	if f.unchanged(c) {
		return nil
	}
	feed := atomFeed{
		ID: f.pages.absolute("/feed.atom"), Title: "New in the catalog", Author: "Gateway",
		Links:   []atomLink{{Rel: "self", Type: "application/atom+xml", Href: f.pages.absolute("/feed.atom")}, {Rel: "alternate", Type: "text/html", Href: f.pages.absolute(paths.Registry)}},
		Entries: f.newest(),
	}
	latest := time.Unix(0, 0)
	for _, e := range feed.Entries {
		if e.updated.After(latest) {
			latest = e.updated
		}
	}
	feed.Updated = latest.UTC().Format(time.RFC3339)
	return sendXML(c, "application/atom+xml; charset=utf-8", feed)
}

// newest returns the newest rows of the catalog, newest first.
func (f *Feeds) newest() []atomEntry {
	entries := latest(f.catalog.AllEntries(), func(e *models.CatalogEntry) time.Time { return e.CreatedAt }, func(e *models.CatalogEntry) string { return e.ID })
	templates := latest(f.catalog.AllTemplates(), func(t *models.CatalogTemplate) time.Time { return t.CreatedAt }, func(t *models.CatalogTemplate) string { return t.ID })
	var list []atomEntry
	for _, s := range public.Servers(entries) {
		e := f.entry(s.ID, s.Title(), s.Path(), s.Publisher(), s.Description, s.CreatedAt, s.UpdatedAt)
		for _, tag := range s.Tags {
			e.Categories = append(e.Categories, atomCategory{ui.Clean(tag)})
		}
		list = append(list, e)
	}
	for _, t := range public.Templates(templates) {
		e := f.entry(t.ID, "Template: "+ui.Clean(t.Title), t.Path(), "Gateway", t.Description, t.CreatedAt, t.UpdatedAt)
		e.Categories = []atomCategory{{ui.Clean(t.Category)}}
		list = append(list, e)
	}
	slices.SortStableFunc(list, func(a, b atomEntry) int { return b.created.Compare(a.created) })
	return list[:min(feedRows, len(list))]
}

// latest returns the newest rows of a list, at most feedRows.
func latest[T any](rows []T, at func(T) time.Time, id func(T) string) []T {
	order := func(a, b T) int { return cmp.Or(at(b).Compare(at(a)), cmp.Compare(id(a), id(b))) }
	var newest []T
	for _, row := range rows {
		if len(newest) == feedRows && order(row, newest[feedRows-1]) >= 0 {
			continue
		}
		i, _ := slices.BinarySearchFunc(newest, row, order)
		newest = slices.Insert(newest, i, row)
		newest = newest[:min(feedRows, len(newest))]
	}
	return newest
}

func (f *Feeds) entry(id, title, path, author, summary string, created, updated time.Time) atomEntry {
	if updated.Before(created) {
		updated = created
	}
	e := atomEntry{
		ID: f.pages.absolute(path), Title: title, Link: atomLink{Rel: "alternate", Type: "text/html", Href: f.pages.absolute(path)}, Author: author,
		Summary: ui.Clean(summary), Published: created.UTC().Format(time.RFC3339), Updated: updated.UTC().Format(time.RFC3339), created: created, updated: updated,
	}
	if u, err := uuid.Parse(id); err == nil {
		e.ID = u.URN()
	}
	return e
}

// unchanged responds with 304 and returns true if the client has the current
// catalog.
func (f *Feeds) unchanged(c *fiber.Ctx) bool {
	return web.Unchanged(c, web.ETag(f.catalog.Version(), f.pages.publicURL.String(), c.Path()), feedCache)
}

// sendXML responds with an XML document.
func sendXML(c *fiber.Ctx, contentType string, document any) error {
	var body bytes.Buffer
	body.WriteString(xml.Header)
	if err := xml.NewEncoder(&body).Encode(document); err != nil {
		return fault.Internal(fmt.Errorf("encode feed: %w", err))
	}
	c.Set(fiber.HeaderContentType, contentType)
	return c.Send(body.Bytes())
}
