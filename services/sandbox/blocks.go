package sandbox

import "encoding/json"

// MaxBlocks is the maximum number of content blocks that a run returns.
const MaxBlocks = 50

// Block is a content block of a tool's result (MCP 2025-11-25, "Tool Result").
type Block struct {
	Type     string // text, image, audio, resource or resource_link
	Text     string // of a text, or of a resource that is text
	Data     string // of an image, an audio or a binary resource, in base64
	MimeType string // may be empty
	URI      string // of a resource and of a link
	Name     string // of a link
}

// IsBinary reports whether the block has data in base64.
func (b Block) IsBinary() bool { return b.Data != "" }

// ParseBlock returns the content block that a JSON value is. ok is false for
// other values and for a block without a required member.
func ParseBlock(raw []byte) (b Block, ok bool) {
	members := objectOf(raw)
	if b.Type, ok = stringOf(members["type"]); !ok {
		return b, false
	}
	b.MimeType, _ = stringOf(members["mimeType"])
	switch b.Type {
	case "text":
		b.Text, ok = stringOf(members["text"])
	case "image", "audio":
		b.Data, ok = stringOf(members["data"])
		ok = ok && b.MimeType != ""
	case "resource_link":
		b.URI, ok = stringOf(members["uri"])
		b.Name, _ = stringOf(members["name"])
		ok = ok && b.Name != ""
	case "resource":
		inner := objectOf(members["resource"])
		b.MimeType, _ = stringOf(inner["mimeType"])
		var isText, isBlob bool
		b.Text, isText = stringOf(inner["text"])
		b.Data, isBlob = stringOf(inner["blob"])
		b.URI, ok = stringOf(inner["uri"])
		ok = ok && isText != isBlob
	default:
		ok = false
	}
	return b, ok
}

// Blocks returns the content blocks that a returned JSON value stands for: a
// block, an object with nothing but a content of blocks, or an array of these
// and of texts. ok is false for other values, and for one with only text.
func Blocks(value []byte) (blocks []json.RawMessage, ok bool) {
	if len(value) == 0 || value[0] != '{' && value[0] != '[' {
		return nil, false
	}
	var parts []json.RawMessage
	if value[0] == '{' {
		parts = append(parts, value)
	} else if json.Unmarshal(value, &parts) != nil {
		return nil, false
	}
	found := blockList{}
	for _, part := range parts {
		if part[0] == '"' && value[0] == '[' {
			found.blocks = append(found.blocks, json.RawMessage(`{"type":"text","text":`+string(part)+`}`))
		} else if !found.add(part) && !found.addContent(part) {
			return nil, false
		}
	}
	if !found.others {
		return nil, false
	}
	return found.blocks, true
}

// blockList collects blocks. others reports whether one is not a text.
type blockList struct {
	blocks []json.RawMessage
	others bool
}

// add adds a value and returns true if it is a block.
func (l *blockList) add(value json.RawMessage) bool {
	b, ok := ParseBlock(value)
	if ok {
		l.blocks = append(l.blocks, value)
		l.others = l.others || b.Type != "text"
	}
	return ok
}

// addContent adds the blocks of an object that has only content, and returns
// true if a value is one.
func (l *blockList) addContent(value json.RawMessage) bool {
	result := objectOf(value)
	var content []json.RawMessage
	if len(result) != 1 || json.Unmarshal(result["content"], &content) != nil {
		return false
	}
	for _, block := range content {
		if !l.add(block) {
			return false
		}
	}
	return true
}

// objectOf returns the members of a JSON object, or nil.
func objectOf(raw []byte) map[string]json.RawMessage {
	var members map[string]json.RawMessage
	if len(raw) == 0 || raw[0] != '{' || json.Unmarshal(raw, &members) != nil {
		return nil
	}
	return members
}

func stringOf(raw []byte) (s string, ok bool) {
	if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
		return "", false
	}
	return s, true
}
