package public

import (
	"strings"
	"sync"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/catalog"
	"mcpgateway/services/docsearch"
	"mcpgateway/services/fault"
	"mcpgateway/views/docs"
	"mcpgateway/views/layout"
	"mcpgateway/views/public"
	"mcpgateway/web"
)

const (
	docsPath  = "/docs"
	docsCache = "public, max-age=300"
	docsFound = 20 // maximum number of search results
)

// Docs serves the documentation. It is rendered at the first request.
type Docs struct {
	pages   *Pages
	catalog *catalog.Catalog
	load    func() (*library, error)
}

// library is the documentation with the index of its sections.
type library struct {
	*docs.Site
	index *docsearch.Index
}

// NewDocs returns the handlers.
func NewDocs(pages *Pages, c *catalog.Catalog) *Docs {
	return &Docs{pages: pages, catalog: c, load: sync.OnceValues(loadLibrary)}
}

func loadLibrary() (*library, error) {
	site, err := docs.Load()
	if err != nil {
		return nil, err
	}
	var sections []docsearch.Section
	for _, p := range site.Pages {
		for _, part := range p.Parts {
			url := p.URL()
			if part.ID != "" {
				url += "#" + part.ID
			}
			sections = append(sections, docsearch.Section{URL: url, Page: p.Title, Heading: part.Title, Text: part.Text})
		}
	}
	return &library{site, docsearch.New(sections)}, nil
}

// Index serves GET /docs, and with the parameter q a search.
func (d *Docs) Index(c *fiber.Ctx) error {
	if c.Context().QueryArgs().Has("q") {
		return d.search(c)
	}
	site, err := d.load()
	if err != nil {
		return err
	}
	f := d.pages.frame(c, pageMeta{
		title: "Documentation", description: "How to run Gateway, add MCP servers and connect clients.", path: docsPath, section: layout.SectionDocs,
		crumbs: []layout.Crumb{{Label: "Docs"}},
	})
	return render(c, f, docs.Index(docs.IndexProps{Frame: f, Site: site.Site}))
}

// Page serves GET /docs/:name, and GET /docs/:name.md as Markdown.
func (d *Docs) Page(c *fiber.Ctx) error {
	site, err := d.load()
	if err != nil {
		return err
	}
	name, raw := strings.CutSuffix(c.Params("name"), ".md")
	page := site.Find(name)
	if page == nil {
		return fault.NotFound("page", clipped(name))
	}
	if raw {
		c.Set(fiber.HeaderContentType, "text/markdown; charset=utf-8")
		return d.text(c, page.Markdown)
	}
	f := d.pages.frame(c, pageMeta{title: page.Title, description: page.Lead, path: page.URL(), section: layout.SectionDocs, crumbs: docCrumbs(page.Title)})
	return render(c, f, docs.Article(docs.ArticleProps{Frame: f, Site: site.Site, Page: page}))
}

// docCrumbs returns where a page of the documentation is.
func docCrumbs(title string) []layout.Crumb {
	return []layout.Crumb{{Label: "Docs", URL: docsPath}, {Label: title}}
}

// search serves a search. It has no separate address, because every name
// below /docs can be a page's.
func (d *Docs) search(c *fiber.Ctx) error {
	site, err := d.load()
	if err != nil {
		return err
	}
	query := clipped(c.Query("q"))
	f := d.pages.frame(c, pageMeta{title: "Search the documentation", path: docsPath, section: layout.SectionDocs, noIndex: true, crumbs: docCrumbs("Search")})
	props := docs.SearchProps{Frame: f, Query: query}
	for _, r := range site.index.Find(query, docsFound) {
		props.Found = append(props.Found, docs.Found{URL: r.URL, Page: r.Page, Heading: r.Heading, Excerpt: r.Excerpt})
	}
	return render(c, f, docs.Search(props))
}

// List serves GET /llms.txt (https://llmstxt.org): the documentation and the
// catalog.
func (d *Docs) List(c *fiber.Ctx) error {
	site, err := d.load()
	if err != nil {
		return err
	}
	c.Set(fiber.HeaderContentType, fiber.MIMETextPlainCharsetUTF8)
	base := d.pages.publicURL.String()
	return d.text(c, site.List(base)+public.CatalogText(base, public.Servers(d.catalog.AllEntries())))
}

// Full serves GET /llms-full.txt.
func (d *Docs) Full(c *fiber.Ctx) error {
	site, err := d.load()
	if err != nil {
		return err
	}
	c.Set(fiber.HeaderContentType, fiber.MIMETextPlainCharsetUTF8)
	return d.text(c, site.Full())
}

func (d *Docs) text(c *fiber.Ctx, body string) error {
	if web.Unchanged(c, web.ETag(body), docsCache) {
		return nil
	}
	return c.SendString(body)
}
