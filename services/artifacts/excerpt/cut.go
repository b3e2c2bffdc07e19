// Package excerpt cuts the results of tools that are longer than a limit, and
// reads what was left out from the artifacts.
package excerpt

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/artifacts"
	"mcpgateway/services/artifacts/pages"
	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
)

// Store stores the whole results. Implemented by artifacts.Store.
type Store interface {
	Put(ctx context.Context, owner artifacts.Owner, name string, kind models.ArtifactKind, data []byte) (expires time.Time, err error)
	PutAnswer(ctx context.Context, owner artifacts.Owner, name string, kind models.ArtifactKind, data []byte) (expires time.Time, err error)
	Get(ctx context.Context, owner artifacts.Owner, name string) (*artifacts.Artifact, error)
}

// storeTime limits storing a result. The client waits for it.
const storeTime = 10 * time.Second

// Cutter cuts the results for one caller.
type Cutter struct {
	Store Store
	Owner artifacts.Owner
	Limit int    // bytes of text
	Tool  string // that reads on
	Code  bool   // the caller can run code
}

// Cut returns a raw CallToolResult with at most Limit bytes of text. If its text
// or structured content is longer, the whole is stored, and the result has its
// head and a note about the rest. Blocks without text, isError and _meta stay. A
// result within the limit is returned unchanged.
func (c *Cutter) Cut(ctx context.Context, result []byte) []byte {
	if len(result) <= c.Limit {
		return result
	}
	o, err := rawjson.ParseObject(result, rawjson.Lenient)
	if err != nil {
		return result
	}
	content, err := rawjson.Elements(o.Get("content"), rawjson.Lenient)
	if err != nil {
		content = nil
	}
	blocks := make([]block, 0, len(content))
	var texts []string
	for _, raw := range content {
		b := parseBlock(raw)
		if blocks = append(blocks, b); b.hasText {
			texts = append(texts, b.text)
		}
	}
	text, structured := strings.Join(texts, "\n"), o.Get("structuredContent")
	if rawjson.Kind(structured) == 'n' {
		structured = nil
	}
	if len(text) <= c.Limit && len(structured) <= c.Limit {
		return result
	}
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	var out [][]byte
	if len(text) <= c.Limit {
		out = content
	} else {
		out = c.cutText(ctx, blocks, []byte(text))
	}
	switch {
	case structured == nil:
	case len(text) > c.Limit && isSame([]byte(text), structured):
		o.Delete("structuredContent")
	case len(structured) > c.Limit:
		o.Delete("structuredContent")
		head, note := c.shorten(ctx, structured)
		out = append(out, textBlock(head), textBlock(note))
	}
	o.Set("content", append(append([]byte{'['}, bytes.Join(out, []byte{','})...), ']'))
	return o.Bytes()
}

// cutText returns the blocks of a content with the head of its text and a note in
// place of the first text. Other blocks without text stay in their order.
func (c *Cutter) cutText(ctx context.Context, blocks []block, text []byte) (out [][]byte) {
	first := true
	for _, b := range blocks {
		switch {
		case !b.hasText:
			out = append(out, b.raw)
		case first:
			head, note := c.shorten(ctx, text)
			out, first = append(out, b.with(head), textBlock(note)), false
		}
	}
	return out
}

// shorten stores a whole text and returns its head and the note about the rest.
func (c *Cutter) shorten(ctx context.Context, whole []byte) (head, note string) {
	kind, page := models.ArtifactText, pages.Page{}
	if isJSON(whole) && pages.IsPageable(whole) {
		kind, page = models.ArtifactJSON, pages.HeadOfJSON(whole, c.Limit)
	} else {
		page = pages.HeadOfText(whole, c.Limit)
	}
	name := artifacts.NameOf("result", whole)
	expires, err := c.Store.PutAnswer(ctx, c.Owner, name, kind, whole)
	return page.Text, c.note(name, kind, len(whole), page, expires, err)
}

// note describes what a head leaves out and how to read on.
func (c *Cutter) note(name string, kind models.ArtifactKind, size int, head pages.Page, expires time.Time, err error) string {
	var b strings.Builder
	fmt.Fprintf(&b, "[This result is too long to show whole: %s of %d bytes. ", kindWord(kind), size)
	if kind == models.ArtifactJSON {
		fmt.Fprintf(&b, "Above is its beginning as valid JSON, cut between values; left out are %s. ", leftWords(head.Left))
	} else {
		fmt.Fprintf(&b, "Above are its first %d bytes. ", len(head.Text))
	}
	if err != nil {
		fmt.Fprintf(&b, "The rest could not be stored: %s Call the tool again for less data.]", fault.From(err).Message)
		return b.String()
	}
	id := rawjson.Quote(name)
	fmt.Fprintf(&b, `Read on with %s {"id":%s,"offset":%d,"limit":%d}, or search all of it with %s {"id":%s,"find":"text"}`, c.Tool, id, max(head.Next, 0), pages.DefaultLimit, c.Tool, id)
	if c.Code {
		fmt.Fprintf(&b, `, or process all of it in code: await gateway.load(%s)`, id)
	}
	fmt.Fprintf(&b, ". It is stored for you until %s.]", expires.UTC().Format("2006-01-02 15:04 UTC"))
	return b.String()
}

// kindWord returns the name of a kind in notes.
func kindWord(kind models.ArtifactKind) string {
	if kind == models.ArtifactJSON {
		return "JSON"
	}
	return "text"
}

// maxLeft is the number of arrays and objects that a note counts.
const maxLeft = 5

func leftWords(left []pages.Left) string {
	if len(left) == 0 {
		return "no values"
	}
	var words []string
	for _, l := range left[max(0, len(left)-maxLeft):] {
		words = append(words, l.Words())
	}
	return strings.Join(words, ", ")
}

// block is one content block.
type block struct {
	raw     []byte
	text    string
	hasText bool
	object  *rawjson.Object // of a text block
}

// parseBlock returns a block. Text blocks and embedded resources of text have a
// text.
func parseBlock(raw []byte) block {
	b := block{raw: raw}
	o, err := rawjson.ParseObject(raw, rawjson.Lenient)
	if err != nil {
		return b
	}
	switch kind, _ := o.String("type"); kind {
	case "text":
		b.object = o
		b.text, b.hasText = o.String("text")
	case "resource":
		b.text, b.hasText = o.Object("resource").String("text")
	}
	return b
}

// with returns the block with another text. An embedded resource becomes text.
func (b block) with(text string) []byte {
	if b.object == nil {
		return textBlock(text)
	}
	b.object.Set("text", rawjson.Quote(text))
	return b.object.Bytes()
}

func textBlock(text string) []byte {
	return append(rawjson.AppendString([]byte(`{"type":"text","text":`), text), '}')
}

// isJSON reports whether a text is a JSON object or array.
func isJSON(text []byte) bool {
	kind := rawjson.Kind(text)
	return (kind == '{' || kind == '[') && rawjson.Valid(text, rawjson.Lenient) == nil
}

// isSame reports whether a text is the JSON of structured content, perhaps as the
// result of the object that old clients get.
func isSame(text, structured []byte) bool {
	var one, other bytes.Buffer
	if !isJSON(text) || json.Compact(&one, text) != nil || json.Compact(&other, structured) != nil {
		return false
	}
	if bytes.Equal(one.Bytes(), other.Bytes()) {
		return true
	}
	inner, ok := bytes.CutPrefix(other.Bytes(), []byte(`{"result":`))
	return ok && bytes.Equal(append(one.Bytes(), '}'), inner)
}
