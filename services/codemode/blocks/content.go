package blocks

import (
	"encoding/json"
	"fmt"

	"mcpgateway/services/rawjson"
	"mcpgateway/services/sandbox"
)

// Content is the content that code returned.
type Content struct {
	Blocks  []Shown
	Summary json.RawMessage // the JSON array of the blocks without their data
	LeftOut int             // blocks that are replaced with a text
}

// Shown is one block of a result.
type Shown struct {
	Type string
	Raw  json.RawMessage
	// Words replace the block for clients that don't know its type.
	Words string
}

// summary describes a block in structuredContent.
type summary struct {
	Type     string `json:"type"`
	MimeType string `json:"mimeType,omitempty"`
	URI      string `json:"uri,omitempty"`
	Name     string `json:"name,omitempty"`
	Text     string `json:"text,omitempty"`
	Bytes    int    `json:"bytes,omitempty"`
}

// Returned returns the content for blocks that the code returned. Texts have at
// most sandbox.MaxResult bytes in total; further text is truncated. A block
// above MaxBlock or MaxTotal, or without valid data, becomes a text that gives
// the reason. more is the number of blocks that the code returned in addition.
func (h *Held) Returned(blocks []json.RawMessage, more int) Content {
	c := Content{LeftOut: more}
	all := []summary{}
	total, texts := 0, 0
	for _, raw := range blocks {
		block, ok := sandbox.ParseBlock(raw)
		if !ok {
			continue // a child never sends one
		}
		if block.Type == "text" {
			text := sandbox.ClipText(block.Text, max(0, sandbox.MaxResult-texts))
			if text != block.Text {
				text += fmt.Sprintf("\n[truncated: the whole text has %d bytes]", len(block.Text))
				raw = Text(text)
			}
			texts += len(text)
			c.Blocks = append(c.Blocks, Shown{Type: "text", Raw: raw})
			all = append(all, summary{Type: "text", Text: text})
			continue
		}
		shown, size, reason := h.show(raw, block, MaxTotal-total)
		s := summary{Type: block.Type, MimeType: block.MimeType, URI: block.URI, Name: block.Name, Bytes: size}
		if reason != "" {
			c.LeftOut++
			s = summary{Type: "text", Text: fmt.Sprintf("[%s left out: %s]", describe(block, size), reason)}
			shown = Shown{Type: "text", Raw: Text(s.Text)}
		} else {
			total += size
		}
		c.Blocks, all = append(c.Blocks, shown), append(all, s)
	}
	if more > 0 {
		c.Blocks = append(c.Blocks, Shown{Type: "text", Raw: Text(fmt.Sprintf("[%d more blocks left out: a result has at most %d]", more, sandbox.MaxBlocks))})
	}
	// Strings and numbers always marshal.
	c.Summary, _ = sandbox.Encode(all)
	return c
}

// show returns a block with its data and its size, or the reason to leave it
// out.
func (h *Held) show(raw json.RawMessage, block sandbox.Block, left int) (shown Shown, size int, reason string) {
	data := block.Data
	if kept, known := h.find(data); known {
		if kept == "" {
			return shown, 0, fmt.Sprintf("a block has at most %d bytes, and the blocks of a run have at most %d in total", MaxBlock, MaxTotal)
		}
		raw, data = replaced(raw, data, kept), kept
	} else if block.IsBinary() && !isBase64(data) {
		return shown, 0, "its data is not base64"
	}
	size = sizeOf(block, data)
	switch {
	case size > MaxBlock:
		return shown, size, fmt.Sprintf("a block has at most %d bytes", MaxBlock)
	case size > left:
		return shown, size, fmt.Sprintf("the blocks of a result have at most %d bytes in total", MaxTotal)
	}
	return Shown{Type: block.Type, Raw: raw, Words: "[" + describe(block, size) + "; this client can't display it]"}, size, ""
}

// describe returns a block in words.
func describe(b sandbox.Block, size int) string {
	what := b.Type
	switch {
	case b.Type == "resource_link":
		return fmt.Sprintf("link to %s, %s", b.Name, b.URI)
	case b.URI != "":
		what += " " + b.URI
	}
	if b.MimeType != "" {
		what += ", " + b.MimeType
	}
	if size > 0 {
		what += fmt.Sprintf(", %d bytes", size)
	}
	return what
}

// Text returns a text block.
func Text(text string) json.RawMessage {
	return append(append([]byte(`{"type":"text","text":`), rawjson.Quote(text)...), '}')
}
