package admin

import (
	"mcpgateway/services/rawjson"
	"mcpgateway/services/toolset"
	views "mcpgateway/views/admin"
	"mcpgateway/views/ui"
)

// ToolState returns the visibility of a tool for its page.
func ToolState(t *toolset.Tool) views.ToolState {
	switch t.Hidden {
	case toolset.Visible:
		return views.ToolStateOf(views.ToolOn, "")
	case toolset.HiddenByAdmin:
		return views.ToolStateOf(views.ToolOff, "")
	case toolset.HiddenByApproval:
		return views.ToolStateOf(views.ToolApprove, "")
	}
	return views.ToolStateOf(views.ToolOff, "It is "+string(t.Hidden))
}

// ToolRow returns a tool as a row of the list of tools.
func ToolRow(t *toolset.Tool) views.ToolRow {
	row := views.ToolRow{Name: t.FullName, Listed: t.Name, Server: t.Server.Config.Alias, State: ToolState(t), LongName: views.LongNameWords(t.Name), Task: t.Tasks == toolset.TasksRequired}
	if o := t.Override; o != nil {
		row.Override = "Overridden"
		if o.As != "" {
			row.Override, row.Own = "Renamed", t.Upstream
		}
	}
	definition, err := rawjson.ParseObject(t.Definition, rawjson.Lenient)
	if err != nil {
		return row // a sync stores valid objects only
	}
	row.Title, _ = definition.String("title")
	row.Description, _ = definition.String("description")
	row.Hidden = ui.Hidden(row.Description) || ui.Hidden(row.Title) || ui.Hidden(t.FullName)
	return row
}
