package playground

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"mcpgateway/services/rawjson"
	"mcpgateway/services/toolset"
	"mcpgateway/views/admin"
	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
)

// Bounds of what the Playground shows of a result.
const (
	maxBlocks    = 20
	maxBlockText = 8_000     // characters of a block
	maxShownJSON = 12_000    // characters
	maxImage     = 512 << 10 // characters of base64
	maxTreeJSON  = 12_000    // bytes of structured content that are shown as a tree
)

// readResult puts a raw result of tools/call into what is shown.
func readResult(result *admin.TryResult, raw []byte) {
	result.OK, result.Word = true, "OK"
	o, err := rawjson.ParseObject(raw, rawjson.Lenient)
	if err != nil {
		result.OK, result.Word, result.Message = false, "Failed", "the answer is not a result of a tool"
		return
	}
	if rawjson.Kind(o.Get("isError")) == 't' {
		result.OK, result.Word = false, "Tool error"
	}
	result.Oddities = oddities(o)
	blocks, _ := rawjson.Elements(o.Get("content"), rawjson.Lenient) // without content there is none to show
	for i, block := range blocks {
		if i == maxBlocks {
			result.Blocks = append(result.Blocks, admin.TryBlock{Kind: "other", Note: ui.Plural(len(blocks)-i, "further part is", "further parts are") + " left out."})
			break
		}
		if b, err := rawjson.ParseObject(block, rawjson.Lenient); err == nil {
			result.Blocks = append(result.Blocks, blockOf(b))
		}
	}
	if structured := o.Get("structuredContent"); structured != nil && len(structured) <= maxTreeJSON {
		result.Structured = ui.ValueNodes(structured)
	}
	var indented bytes.Buffer
	if json.Indent(&indented, raw, "", "  ") == nil {
		result.Raw = ui.Beginning(indented.String(), maxShownJSON)
	}
}

// blockOf returns a content block (MCP 2025-11-25, ContentBlock) as it is
// shown. Nothing of it is ever fetched.
func blockOf(b *rawjson.Object) admin.TryBlock {
	kind, _ := b.String("type")
	mime, _ := b.String("mimeType")
	data, _ := b.String("data")
	switch kind {
	case "text":
		text, _ := b.String("text")
		return textBlock("text", text, "")
	case "image":
		return imageBlock(mime, data)
	case "audio":
		return admin.TryBlock{Kind: "audio", Note: "Audio, " + mime + ", " + size(data)}
	case "resource":
		return resourceBlock(b.Object("resource"))
	case "resource_link":
		uri, _ := b.String("uri")
		name, _ := b.String("name")
		return admin.TryBlock{Kind: "link", Note: ui.Beginning("Link to the resource "+name+" at "+uri, maxArgHint)}
	default:
		return admin.TryBlock{Kind: "other", Note: ui.Beginning("A part of the kind "+kind, maxArgHint)}
	}
}

func textBlock(kind, text, note string) admin.TryBlock {
	b := admin.TryBlock{Kind: kind, Text: ui.Beginning(text, maxBlockText), Note: note}
	b.Cut = len(b.Text) < len(text)
	return b
}

func imageBlock(mime, data string) admin.TryBlock {
	b := admin.TryBlock{Kind: "image", Note: "Image, " + ui.Beginning(mime, maxArgHint) + ", " + size(data)}
	shown := []string{"image/png", "image/jpeg", "image/gif", "image/webp"}
	if slices.Contains(shown, mime) && len(data) <= maxImage && !strings.ContainsFunc(data, notBase64) {
		b.Image = "data:" + mime + ";base64," + data
	}
	return b
}

func notBase64(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '+' && r != '/' && r != '='
}

func resourceBlock(r *rawjson.Object) admin.TryBlock {
	uri, _ := r.String("uri")
	note := ui.Beginning("Resource "+uri, maxArgHint)
	if text, ok := r.String("text"); ok {
		return textBlock("resource", text, note)
	}
	blob, _ := r.String("blob")
	return admin.TryBlock{Kind: "resource", Note: note + ", " + size(blob)}
}

// size says how large base64 is once it is decoded.
func size(data string) string { return ui.Plural(len(data)*3/4, "byte", "bytes") }

// annotationsOf returns what the server says of a tool's effects, in words.
func annotationsOf(slug string, tool *toolset.Tool) []ui.Fact {
	definition, err := rawjson.ParseObject(tool.Definition, rawjson.Lenient)
	if err != nil {
		return nil
	}
	facts := []ui.Fact{{Label: "Server", Value: tool.Server.Config.Alias, URL: paths.Server(slug, tool.Server.Config.ID)}}
	annotations := definition.Object("annotations")
	for _, hint := range [][4]string{
		{"readOnlyHint", "Only reads", "May change things", "Effect"}, {"destructiveHint", "May delete or overwrite", "Only adds", "Changes"},
		{"idempotentHint", "Changes nothing more", "Has further effects", "When repeated"}, {"openWorldHint", "Other systems", "Its own system", "Reaches"},
	} {
		switch rawjson.Kind(annotations.Get(hint[0])) {
		case 't':
			facts = append(facts, ui.Fact{Label: hint[3], Value: hint[1]})
		case 'f':
			facts = append(facts, ui.Fact{Label: hint[3], Value: hint[2]})
		}
	}
	return facts
}
