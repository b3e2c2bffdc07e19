package playground

import (
	"strconv"

	"mcpgateway/services/rawjson"
)

// maxOddities is the maximum number of issues reported for one result.
const maxOddities = 5

// resultIssues returns the violations of the CallToolResult schema (MCP 2025-11-25) in
// a result. The gateway forwards such results unchanged, and many clients reject
// them.
func resultIssues(result *rawjson.Object) []string {
	var odd []string
	switch content := result.Get("content"); rawjson.Kind(content) {
	case 0:
		odd = append(odd, "content is missing; an empty list is required")
	case '[':
		blocks, _ := rawjson.Elements(content, rawjson.Lenient) // the result was parsed before
		for i, block := range blocks {
			if why := blockIssue(block); why != "" {
				odd = append(odd, "content block "+strconv.Itoa(i+1)+" "+why)
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

// contentMembers are the required string members of content blocks by type (MCP
// 2025-11-25, ContentBlock).
var contentMembers = map[string][]string{
	"text": {"text"}, "image": {"data", "mimeType"}, "audio": {"data", "mimeType"}, "resource_link": {"uri", "name"}, "resource": nil,
}

// blockIssue returns the violation in a content block, or "".
func blockIssue(raw []byte) string {
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
		return "has a type that MCP doesn't define"
	}
	for _, name := range members {
		if _, ok := block.String(name); !ok {
			return "has no " + name + " string"
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
