package projects

import (
	"mcpgateway/models"
	"mcpgateway/services/access/groups"
	"mcpgateway/services/declaration"
)

// exportGroup has only the keys that differ from their defaults.
type exportGroup struct {
	Claim   string      `json:"claim,omitempty"`
	Role    models.Role `json:"role,omitempty"`
	Members []string    `json:"members,omitempty"`
}

// groupsFile returns the exported groups by name.
func groupsFile(all map[string]*groups.Declared) map[string]exportGroup {
	file := make(map[string]exportGroup, len(all))
	for name, d := range all {
		var g exportGroup
		if d.Claim != nil {
			g.Claim = *d.Claim
		}
		if d.Role != nil {
			g.Role = *d.Role
		}
		if d.Members != nil {
			g.Members = *d.Members
		}
		file[name] = g
	}
	return file
}

// groups applies the declared groups. A declaration without the key keeps all.
func (w *writer) groups(d *declaration.File, prune bool) error {
	if d.Groups == nil {
		return nil
	}
	applied, err := groups.Apply(w.tx, w.store.now, d.Groups, prune)
	if err != nil {
		return err
	}
	for path, why := range applied.Problems {
		w.problems[declaration.Join("groups", path)] = why
	}
	for _, topic := range applied.Topics {
		w.topics[topic] = true
	}
	w.entries = append(w.entries, applied.Entries...)
	for _, c := range applied.Changes {
		action := ActionKeep
		switch {
		case c.Created:
			action = ActionCreate
		case c.Deleted:
			action = ActionDelete
		case c.Changed:
			action = ActionUpdate
		}
		w.plan.Changes = append(w.plan.Changes, Change{Action: action, Group: c.Name, Fields: c.Fields})
	}
	return nil
}
