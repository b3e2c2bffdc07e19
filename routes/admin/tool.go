package admin

import (
	"mcpgateway/services/rawjson"
	"mcpgateway/services/toolset"
	"mcpgateway/views/admin"
	"mcpgateway/views/ui"
)

func toolState(t *toolset.Tool) admin.ToolState {
	switch t.Hidden {
	case toolset.Visible:
		return admin.ToolStateOf(admin.ToolEnabled)
	case toolset.HiddenByAdmin:
		return admin.ToolStateOf(admin.ToolOff)
	case toolset.HiddenByApproval:
		return admin.ToolStateOf(admin.ToolChanged)
	default:
		return admin.ToolStateOf(admin.ToolHidden)
	}
}

func toolRowOf(t *toolset.Tool) admin.ToolRow {
	row := admin.ToolRow{Name: t.FullName, Listed: t.Name, Server: t.Server.Config.Alias, State: toolState(t), LongName: admin.LongNameWords(t.Name)}
	definition, err := rawjson.ParseObject(t.Definition, rawjson.Lenient)
	if err != nil {
		return row // a sync stores valid objects only
	}
	row.Title, _ = definition.String("title")
	row.Description, _ = definition.String("description")
	row.Hidden = ui.Hidden(row.Description) || ui.Hidden(row.Title) || ui.Hidden(t.FullName)
	row.Parameters = len(definition.Object("inputSchema").Object("properties").Names())
	return row
}
