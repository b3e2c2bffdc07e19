package health

import (
	"mcpgateway/models"
	"mcpgateway/services/catalog/sources"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/typescript"
)

// toolsOf returns the public facts of tool definitions, in their order. It
// leaves out tools whose names could not be shown as they are, and everything
// beyond the limits.
func toolsOf(definitions [][]byte) models.CheckedTools {
	var tools models.CheckedTools
	listed := 0
	for _, raw := range definitions {
		o, err := rawjson.ParseObject(raw, rawjson.Lenient)
		if err != nil {
			continue
		}
		name, _ := o.String("name")
		if !isShowable(name) {
			continue
		}
		if len(tools) == maxTools {
			break
		}
		tool := models.CheckedTool{Name: name, Tokens: typescript.SizeInTokens(string(raw))}
		switch string(o.Object("annotations").Get("readOnlyHint")) {
		case "true":
			tool.ReadOnly = new(true)
		case "false":
			tool.ReadOnly = new(false)
		}
		listed += len(name)
		for parameter := range o.Object("inputSchema").Object("properties").All() {
			if len(tool.Parameters) == maxParameters || listed+len(parameter) > maxListed {
				break
			}
			if isShowable(parameter) {
				tool.Parameters = append(tool.Parameters, parameter)
				listed += len(parameter)
			}
		}
		tools = append(tools, tool)
	}
	return tools
}

// isShowable reports whether a name is safe to display and not too long.
func isShowable(name string) bool { return name != "" && sources.Clean(name, maxName) == name }
