package catalog

import (
	"context"
	"maps"
	"slices"
	"strings"

	"mcpgateway/models"
	"mcpgateway/services/access"
	views "mcpgateway/views/admin"
)

// People lists the users. Implemented by access.Users.
type People interface {
	List(ctx context.Context) ([]access.User, error)
}

// history returns the changes of an entry with the names of the users who made
// them.
func (a *Catalog) history(ctx context.Context, id string) ([]views.CatalogChange, error) {
	rows, err := a.store.History(ctx, id)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	names := map[string]string{}
	if slices.ContainsFunc(rows, func(r models.CatalogChange) bool { return r.Actor != "" }) {
		people, err := a.people.List(ctx)
		if err != nil {
			return nil, err
		}
		for _, p := range people {
			names[p.ID] = p.Email
		}
	}
	changes := make([]views.CatalogChange, len(rows))
	for i, row := range rows {
		changes[i] = views.CatalogChange{At: row.At, What: changeWords(row.Action), Actor: names[row.Actor]}
		if row.Actor != "" && names[row.Actor] == "" {
			changes[i].Actor = "A deleted user"
		}
		for _, name := range slices.Sorted(maps.Keys(row.Detail)) {
			changes[i].Lines = append(changes[i].Lines, name+": "+row.Detail[name])
		}
	}
	return changes, nil
}

// changeWords describes the action of a change.
func changeWords(action string) string {
	words := map[string]string{
		"import.update": "Changed by its source", "import.delete": "Removed by its source", "catalog.edited": "Edited", "catalog.unlocked": "Reset to its source",
		"catalog.featured": "Featured or unfeatured", "catalog.verified": "Verified or unverified", "catalog.hidden": "Hidden or shown",
		"bulk.hide": "Hidden", "bulk.show": "Shown", "bulk.feature": "Featured", "bulk.unfeature": "Unfeatured",
		"bulk.add-tag": "Tag added", "bulk.remove-tag": "Tag removed", "bulk.approve": "Approved into a list", "bulk.withdraw": "Withdrawn from a list",
	}
	if text := words[action]; text != "" {
		return text
	}
	_, text, _ := strings.Cut(action, ".")
	return text
}
