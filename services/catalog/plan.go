package catalog

// Action is the effect of an import on a row.
type Action string

// The actions of an import. The last two leave a row unchanged although its
// source changed it.
const (
	ActionAdd    Action = "add"
	ActionUpdate Action = "update"
	ActionDelete Action = "delete"
	ActionLocked Action = "locked" // an administrator edited the row
	ActionTaken  Action = "taken"  // another source has a row with this name
)

// Change is the effect of an import on one row: an entry by publisher/server,
// or a template by slug.
type Change struct {
	Action   Action
	Template bool
	Name     string
}

// Plan is the result of an import, or of a dry run. The lists are limited; the
// counts are not.
type Plan struct {
	Source    string // id
	DryRun    bool
	Fetched   int // rows received from the source
	Added     int
	Updated   int
	Deleted   int
	Unchanged int
	Locked    int
	Conflicts int
	Skipped   int // invalid rows

	Changes  []Change
	Warnings []string // why rows were skipped, and which members were ignored
}

// Changed reports whether the import changes anything.
func (p *Plan) Changed() bool { return p.Added+p.Updated+p.Deleted > 0 }

func (p *Plan) add(action Action, template bool, name string) {
	switch action {
	case ActionAdd:
		p.Added++
	case ActionUpdate:
		p.Updated++
	case ActionDelete:
		p.Deleted++
	case ActionLocked:
		p.Locked++
	case ActionTaken:
		p.Conflicts++
	}
	if len(p.Changes) < maxChanges {
		p.Changes = append(p.Changes, Change{action, template, name})
	}
}
