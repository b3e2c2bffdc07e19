package tools

// Sizes of the list.
const (
	RowsPerGroup = rowsPerGroup
	ToolsPerPage = toolsPerPage
)
