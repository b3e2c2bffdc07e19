package playground

import (
	"strconv"

	"mcpgateway/services/rawjson"
)

// maxOddities bounds what is said of one result.
const maxOddities = 5

// oddities says where a result is not what tools/call returns (MCP 2025-11-25,
// CallToolResult). It is passed on to clients as it came, and many refuse it.
func oddities(result *rawjson.Object) []string {
	var odd []string
	switch content := result.Get("content"); rawjson.Kind(content) {
	case 0:
		odd = append(odd, "content is missing, which even a result without any has as an empty list")
	case '[':
		blocks, _ := rawjson.Elements(content, rawjson.Lenient) // the whole result was read before
		for i, block := range blocks {
			if why := oddBlock(block); why != "" {
				odd = append(odd, "part "+strconv.Itoa(i+1)+" of content "+why)
			}
		}
	default:
		odd = append(odd, "content is not a list")
	}
	if k := rawjson.Kind(result.Get("structuredContent")); k != 0 && k != '{' {
		odd = append(odd, "structuredContent is not an object")
	}
	if k := rawjson.Kind(result.Get("isError")); k != 0 && k != 't' && k != 'f' {
		odd = append(odd, "isError is neither true nor false")
	}
	return odd[:min(len(odd), maxOddities)]
}

// contentMembers are the members that parts of content must have by their type,
// all texts (MCP 2025-11-25, ContentBlock).
var contentMembers = map[string][]string{
	"text": {"text"}, "image": {"data", "mimeType"}, "audio": {"data", "mimeType"}, "resource_link": {"uri", "name"}, "resource": nil,
}

// oddBlock says what is wrong with a part of content; "" is nothing.
func oddBlock(raw []byte) string {
	block, err := rawjson.ParseObject(raw, rawjson.Lenient)
	if err != nil {
		return "is not an object"
	}
	kind, ok := block.String("type")
	if !ok {
		return "has no type"
	}
	members, known := contentMembers[kind]
	if !known {
		return "has a type that MCP does not know"
	}
	for _, name := range members {
		if _, ok := block.String(name); !ok {
			return "has no " + name + ", as a text"
		}
	}
	if kind == "resource" {
		resource := block.Object("resource")
		_, named := resource.String("uri")
		_, text := resource.String("text")
		_, blob := resource.String("blob")
		if !named || !text && !blob {
			return "has no resource with uri and text or blob"
		}
	}
	return ""
}
