package docs

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"

	chromahtml "github.com/alecthomas/chroma/v2/formatters/html"
	"github.com/yuin/goldmark"
	highlighting "github.com/yuin/goldmark-highlighting/v2"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// newMarkdown returns the renderer: GitHub's tables and links, headings with
// ids, highlighted code with a button that copies it. Raw HTML is left out.
func newMarkdown() goldmark.Markdown {
	return goldmark.New(
		goldmark.WithExtensions(extension.GFM, highlighting.NewHighlighting(
			highlighting.WithFormatOptions(chromahtml.WithClasses(true), chromahtml.PreventSurroundingPre(true)),
			highlighting.WithWrapperRenderer(wrapCode),
		)),
		goldmark.WithParserOptions(parser.WithAutoHeadingID(), parser.WithASTTransformers(util.Prioritized(pageLinks{}, 100))),
	)
}

// copyMark is replaced by the copy button, whose icon depends on the request.
// It cannot come from a page, because raw HTML is left out.
const copyMark = "<!--copy-->"

// wrapCode writes what surrounds a block of code.
func wrapCode(w util.BufWriter, _ highlighting.CodeBlockContext, entering bool) {
	if entering {
		_, _ = w.WriteString(`<copy-text><pre tabindex="0" role="group" aria-label="Code"><code class="chroma">`)
		return
	}
	_, _ = w.WriteString("</code></pre>" + copyMark + "</copy-text>")
}

var pageLink = regexp.MustCompile(`^([a-z0-9-]+)\.md(#.*)?$`)

// pageLinks turns links between files into links between pages.
type pageLinks struct{}

// Transform implements parser.ASTTransformer.
func (pageLinks) Transform(doc *ast.Document, _ text.Reader, _ parser.Context) {
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if link, ok := n.(*ast.Link); ok && entering {
			if m := pageLink.FindSubmatch(link.Destination); m != nil {
				link.Destination = append([]byte("/docs/"+string(m[1])), m[2]...)
			}
		}
		return ast.WalkContinue, nil
	})
}

// headingIDs generates the ids of headings like GitHub. A heading that is only an
// error code has the code as its id.
type headingIDs struct{ used map[string]int }

var (
	errorCode   = regexp.MustCompile(`^[A-Z][A-Z0-9_]+$`)
	notInIDs    = regexp.MustCompile(`[^\p{L}\p{N}\s_-]+`)
	spacesInIDs = regexp.MustCompile(`\s`)
)

// Generate implements parser.IDs.
func (ids headingIDs) Generate(value []byte, _ ast.NodeKind) []byte {
	id := strings.TrimSpace(strings.ReplaceAll(string(value), "`", ""))
	if !errorCode.MatchString(id) {
		id = spacesInIDs.ReplaceAllString(notInIDs.ReplaceAllString(strings.ToLower(id), ""), "-")
	}
	ids.used[id]++
	if n := ids.used[id]; n > 1 {
		id = fmt.Sprintf("%s-%d", id, n-1)
	}
	return []byte(id)
}

// Put implements parser.IDs.
func (ids headingIDs) Put(value []byte) { ids.used[string(value)]++ }

// render fills in the page's HTML, parts and lead.
func (p *Page) render() error {
	md, source := newMarkdown(), []byte(p.Markdown)
	doc := md.Parser().Parse(text.NewReader(source), parser.WithContext(parser.NewContext(parser.WithIDs(headingIDs{map[string]int{}}))))
	p.Parts = []Part{{Level: 1, Title: p.Title}}
	for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
		content := plain(n, source)
		heading, ok := n.(*ast.Heading)
		if !ok {
			last := &p.Parts[len(p.Parts)-1]
			last.Text = strings.TrimSpace(last.Text + " " + content)
			if _, paragraph := n.(*ast.Paragraph); paragraph && p.Lead == "" {
				p.Lead = content
			}
			continue
		}
		if heading.Level == 1 {
			if content != p.Title {
				return fmt.Errorf("heading %q differs from the title %q", content, p.Title)
			}
			continue
		}
		id, _ := heading.AttributeString("id")
		p.Parts = append(p.Parts, Part{ID: string(id.([]byte)), Level: heading.Level, Title: content})
	}
	var html bytes.Buffer
	if err := md.Renderer().Render(&html, source, doc); err != nil {
		return err
	}
	p.html = accessibleTables.Replace(html.String())
	return nil
}

// accessibleTables wraps tables in focusable boxes that scroll, and replaces
// empty header cells by ordinary cells.
var accessibleTables = strings.NewReplacer(
	"<table>", `<div class="docs-table" tabindex="0" role="group" aria-label="Table"><table>`, "</table>", "</table></div>",
	"<th></th>", "<td></td>",
)

// plain returns the text of a node and what it contains.
func plain(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch {
		case !entering:
			if n.Type() == ast.TypeBlock {
				b.WriteByte(' ')
			}
		case n.Kind() == ast.KindText:
			segment := n.(*ast.Text)
			b.Write(segment.Segment.Value(source))
			if segment.SoftLineBreak() || segment.HardLineBreak() {
				b.WriteByte(' ')
			}
		case n.Kind() == ast.KindString:
			b.Write(n.(*ast.String).Value)
		case n.Kind() == ast.KindAutoLink:
			b.Write(n.(*ast.AutoLink).Label(source))
		case n.Kind() == ast.KindFencedCodeBlock || n.Kind() == ast.KindCodeBlock:
			b.Write(n.Lines().Value(source))
		}
		return ast.WalkContinue, nil
	})
	return strings.Join(strings.Fields(b.String()), " ")
}

var linkInHTML = regexp.MustCompile(`href="(/docs/[^"]*|#[^"]*|[^":]*\.md[^"]*)"`)

// checkLinks returns an error for the first link to a page or heading that
// does not exist.
func (s *Site) checkLinks() error {
	targets := map[string]bool{"/docs": true}
	for _, p := range s.Pages {
		targets[p.URL()] = true
		for _, part := range p.Parts {
			targets[p.URL()+"#"+part.ID] = true
		}
	}
	for _, p := range s.Pages {
		for _, m := range linkInHTML.FindAllStringSubmatch(p.html, -1) {
			target := m[1]
			if strings.HasPrefix(target, "#") {
				target = p.URL() + target
			}
			if !targets[target] {
				return fmt.Errorf("%s.md: there is no page or heading %s", p.Name, m[1])
			}
		}
	}
	return nil
}
