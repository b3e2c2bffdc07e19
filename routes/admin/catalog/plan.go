package catalog

import (
	"mcpgateway/services/catalog/importer"
	views "mcpgateway/views/admin"
	"mcpgateway/views/ui"
)

// changesListed is the maximum number of listed changes of an import.
const changesListed = 200

// planProps converts the plan of an import for its page.
func planProps(plan importer.Plan) views.CatalogPlanProps {
	props := views.CatalogPlanProps{
		Fetched: plan.Fetched, Unchanged: plan.Unchanged, Added: plan.Added, Updated: plan.Updated, Deleted: plan.Deleted, Held: plan.Held, Had: plan.Had,
		Locked: plan.Locked, Taken: plan.Conflicts, Skipped: plan.Skipped, Warnings: plan.Warnings,
	}
	listed := plan.Changes[:min(len(plan.Changes), changesListed)]
	for _, change := range listed {
		props.Lines = append(props.Lines, changeLine(change))
		for _, m := range change.Members {
			props.Lines = append(props.Lines, ui.DiffLine{Op: ' ', Text: "    " + m.Name + ": " + m.String()})
		}
	}
	props.More = plan.Added + plan.Updated + plan.Deleted + plan.Locked + plan.Conflicts - len(listed)
	return props
}

func changeLine(change importer.Change) ui.DiffLine {
	line := ui.DiffLine{Op: ' ', Text: change.Name}
	if change.Template {
		line.Text = "template " + change.Name
	}
	switch change.Action {
	case importer.ActionAdd:
		line.Op = '+'
	case importer.ActionDelete:
		line.Op = '-'
	case importer.ActionUpdate:
		line.Text += " changes"
	case importer.ActionLocked:
		line.Text += " was edited here and is skipped"
	case importer.ActionTaken:
		line.Text += " belongs to another source"
	}
	return line
}
