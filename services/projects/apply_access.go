package projects

import (
	"mcpgateway/models"
	"mcpgateway/services/access/grants"
	"mcpgateway/services/declaration"
	"mcpgateway/services/notify"
)

// access replaces the declared parts of who can use a project.
func (w *writer) access(project *models.Project, d *declaration.Access) error {
	if d == nil {
		return nil
	}
	applied, err := grants.Apply(w.tx, project, d, w.store.now())
	if err != nil {
		return err
	}
	for path, why := range applied.Problems {
		field := "access"
		if path != "" {
			field = declaration.Join(field, path)
		}
		w.problem(project.Slug, "", field, why)
	}
	if len(applied.Fields) == 0 {
		return nil
	}
	w.plan.Changes = append(w.plan.Changes, Change{Action: ActionUpdate, Project: project.Slug, Fields: applied.Fields})
	w.entries = append(w.entries, applied.Entries...)
	w.topics[notify.Access(project.ID)] = true
	return nil
}

// exportAccess has the keys of a project's access that are set.
type exportAccess struct {
	People           map[string]exportTools `json:"people,omitempty"`
	Groups           map[string]exportTools `json:"groups,omitempty"`
	Maintainers      *[]string              `json:"maintainers,omitempty"`
	MaintainerGroups *[]string              `json:"maintainerGroups,omitempty"`
}

// exportTools is a list of toolsets, or declaration.Everything.
type exportTools any

// accessFile returns the exported access of a project, or nil without any.
func accessFile(d *declaration.Access) *exportAccess {
	if d == nil || d.People == nil && d.Groups == nil && d.Maintainers == nil && d.MaintainerGroups == nil {
		return nil
	}
	return &exportAccess{People: toolsFile(d.People), Groups: toolsFile(d.Groups), Maintainers: d.Maintainers, MaintainerGroups: d.MaintainerGroups}
}

func toolsFile(all map[string]declaration.Tools) map[string]exportTools {
	file := make(map[string]exportTools, len(all))
	for name, t := range all {
		if t.Everything {
			file[name] = declaration.Everything
		} else {
			file[name] = t.Toolsets
		}
	}
	return file
}
