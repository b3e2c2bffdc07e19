// Package docs holds the documentation: one Markdown file per page, readable
// as it is, and the pages that show it. A file begins with its front matter
// (title, section, order); links between pages name the files.
package docs

import (
	"cmp"
	"context"
	"embed"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"mcpgateway/views/ui"
)

//go:embed *.md
var files embed.FS

// Sections returns the sections of the documentation in reading order.
func Sections() []string { return []string{"Start", "How to", "Reference", "Understand"} }

// Page is one page of the documentation.
type Page struct {
	Name     string // last part of its URL and of its file without .md
	Title    string
	Section  string
	Lead     string // its first paragraph, as text
	Markdown string // without the front matter
	Parts    []Part
	html     string
	order    int
}

// URL returns the path of the page.
func (p *Page) URL() string { return "/docs/" + p.Name }

// body returns the rendered page: embedded Markdown without raw HTML.
func (p *Page) body() templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		for i, html := range strings.Split(p.html, copyMark) {
			if i > 0 {
				if err := ui.CopyButton("code").Render(ctx, w); err != nil {
					return err
				}
			}
			if _, err := io.WriteString(w, html); err != nil {
				return err
			}
		}
		return nil
	})
}

// Part is the text below one heading.
type Part struct {
	ID    string // fragment; empty before the first heading
	Level int    // of the heading: 1 for the page itself
	Title string
	Text  string
}

// Site is the whole documentation, in reading order.
type Site struct {
	Pages []*Page
}

// Load reads and renders the embedded documentation. It returns an error for
// invalid front matter and for links to pages or headings that do not exist.
func Load() (*Site, error) { return load(files) }

func load(from fs.FS) (*Site, error) {
	names, err := fs.Glob(from, "*.md")
	if err != nil {
		return nil, err
	}
	site := &Site{}
	for _, name := range names {
		source, err := fs.ReadFile(from, name)
		if err != nil {
			return nil, err
		}
		page, err := parse(strings.TrimSuffix(path.Base(name), ".md"), string(source))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		site.Pages = append(site.Pages, page)
	}
	slices.SortFunc(site.Pages, func(a, b *Page) int {
		return cmp.Or(cmp.Compare(slices.Index(Sections(), a.Section), slices.Index(Sections(), b.Section)), cmp.Compare(a.order, b.order), cmp.Compare(a.Name, b.Name))
	})
	return site, site.checkLinks()
}

// parse reads the front matter of a page and renders the rest.
func parse(name, source string) (*Page, error) {
	front, body, found := strings.Cut(strings.TrimPrefix(source, "---\n"), "\n---\n")
	if !found || !strings.HasPrefix(source, "---\n") {
		return nil, fmt.Errorf("no front matter")
	}
	page := &Page{Name: name, Markdown: strings.TrimSpace(body) + "\n"}
	for line := range strings.Lines(front) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		value = strings.TrimSpace(value)
		switch key {
		case "title":
			page.Title = value
		case "section":
			page.Section = value
		case "order":
			order, err := strconv.Atoi(value)
			if err != nil {
				return nil, fmt.Errorf("order: %w", err)
			}
			page.order = order
		default:
			return nil, fmt.Errorf("unknown front matter key %q", key)
		}
	}
	if page.Title == "" || !slices.Contains(Sections(), page.Section) {
		return nil, fmt.Errorf("title and a section of %q are required", Sections())
	}
	return page, page.render()
}

// Find returns the page with a name, or nil.
func (s *Site) Find(name string) *Page {
	for _, p := range s.Pages {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// In returns the pages of a section.
func (s *Site) In(section string) []*Page {
	var pages []*Page
	for _, p := range s.Pages {
		if p.Section == section {
			pages = append(pages, p)
		}
	}
	return pages
}

// Around returns the pages before and after p in reading order; nil at the
// ends.
func (s *Site) Around(p *Page) (previous, next *Page) {
	i := slices.Index(s.Pages, p)
	if i > 0 {
		previous = s.Pages[i-1]
	}
	if i+1 < len(s.Pages) {
		next = s.Pages[i+1]
	}
	return previous, next
}

// List returns llms.txt: the pages with their first paragraphs, with absolute
// URLs below base (https://llmstxt.org).
func (s *Site) List(base string) string {
	var b strings.Builder
	b.WriteString("# Gateway\n\n> One endpoint per project for the tools of many MCP servers.\n")
	for _, section := range Sections() {
		fmt.Fprintf(&b, "\n## %s\n\n", section)
		for _, p := range s.In(section) {
			fmt.Fprintf(&b, "- [%s](%s%s.md): %s\n", p.Title, base, p.URL(), p.Lead)
		}
	}
	return b.String()
}

// Full returns llms-full.txt: the Markdown of all pages.
func (s *Site) Full() string {
	var b strings.Builder
	for i, p := range s.Pages {
		if i > 0 {
			b.WriteString("\n\n")
		}
		b.WriteString(p.Markdown)
	}
	return b.String()
}
