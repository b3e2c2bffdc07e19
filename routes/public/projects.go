package public

import (
	"cmp"

	"mcpgateway/services/toolset"
	"mcpgateway/views/ui"
)

// options returns the projects by name for a selection.
func options(projects *toolset.Directory) []ui.Option {
	var list []ui.Option
	for _, s := range projects.All() {
		list = append(list, ui.Option{Value: s.Project.Slug, Label: ui.Clean(cmp.Or(s.Project.Name, s.Project.Slug))})
	}
	return list
}
