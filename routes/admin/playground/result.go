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

// Limits of a shown result.
const (
	maxBlocks    = 20
	maxBlockText = 8_000     // characters of a block
	maxShownJSON = 12_000    // characters
	maxImage     = 512 << 10 // characters of base64
	maxTreeJSON  = 12_000    // bytes of structured content shown as a tree
)

// readResult parses a raw result of tools/call.
func readResult(result *admin.TryResult, raw []byte) {
	result.OK, result.Word = true, "OK"
	o, err := rawjson.ParseObject(raw, rawjson.Lenient)
	if err != nil {
		result.OK, result.Word, result.Message = false, "Failed", "The response is not a tool result."
		return
	}
	if rawjson.Kind(o.Get("isError")) == 't' {
		result.OK, result.Word = false, "Tool error"
	}
	result.Oddities = resultIssues(o)
	blocks, _ := rawjson.Elements(o.Get("content"), rawjson.Lenient) // missing content has no blocks
	for i, block := range blocks {
		if i == maxBlocks {
			result.Blocks = append(result.Blocks, admin.TryBlock{Kind: "other", Note: ui.Plural(len(blocks)-i, "more content block is", "more content blocks are") + " omitted."})
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

// blockOf converts a content block (MCP 2025-11-25, ContentBlock) for the page. It
// never fetches linked resources.
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
		return admin.TryBlock{Kind: "link", Note: ui.Beginning("Resource link "+name+": "+uri, maxArgHint)}
	default:
		return admin.TryBlock{Kind: "other", Note: ui.Beginning("Content of type "+kind, maxArgHint)}
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

// size returns the decoded size of base64 data.
func size(data string) string { return ui.Plural(len(data)*3/4, "byte", "bytes") }

// annotationsOf returns the labels of a tool's annotations.
func annotationsOf(slug string, tool *toolset.Tool) []ui.Fact {
	definition, err := rawjson.ParseObject(tool.Definition, rawjson.Lenient)
	if err != nil {
		return nil
	}
	facts := []ui.Fact{{Label: "Server", Value: tool.Server.Config.Alias, URL: paths.Server(slug, tool.Server.Config.ID)}}
	if tool.Recipe != nil {
		facts = []ui.Fact{{Label: "Recipe", Value: tool.Recipe.Name, URL: paths.Recipe(slug, tool.Recipe.ID)}}
	}
	if tool.App.Only {
		facts = append(facts, ui.Fact{Label: "Used by", Value: "Its app, not models"})
	}
	annotations := definition.Object("annotations")
	for _, hint := range [][4]string{
		{"readOnlyHint", "Read-only", "Can write", "Effect"}, {"destructiveHint", "Can delete or overwrite", "Only adds", "Changes"},
		{"idempotentHint", "Safe to repeat", "Repeating has effects", "When repeated"}, {"openWorldHint", "External systems", "Own system", "Reaches"},
	} {
		switch rawjson.Kind(annotations.Get(hint[0])) {
		case 't':
			facts = append(facts, ui.Fact{Label: hint[3], Value: hint[1]})
		case 'f':
			facts = append(facts, ui.Fact{Label: hint[3], Value: hint[2]})
		}
	}
	if tool.Tasks == toolset.TasksOptional {
		facts = append(facts, ui.Fact{Label: "Runs", Value: "As a task if the client asks"})
	}
	return facts
}
