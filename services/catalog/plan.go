package catalog

// Action says what an import does with a row.
type Action string

// The actions of an import. The last two leave a row as it is although its
// source says something new.
const (
	ActionAdd    Action = "add"
	ActionUpdate Action = "update"
	ActionDelete Action = "delete"
	ActionLocked Action = "locked" // an admin edited the row
	ActionTaken  Action = "taken"  // another source has the name
)

// Change is what an import does with one row: an entry by publisher/server, or
// a template by its slug.
type Change struct {
	Action   Action
	Template bool
	Name     string
}

// Plan is what an import does, or would do in a dry run. The lists end at a
// bound; the counts go on.
type Plan struct {
	Source    string // id
	DryRun    bool
	Fetched   int // rows that the source gave
	Added     int
	Updated   int
	Deleted   int
	Unchanged int
	Locked    int
	Taken     int
	Skipped   int // unusable rows

	Changes  []Change
	Warnings []string // why rows were skipped, and which members of rows were ignored
}

// Changed reports whether anything is different after the import.
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
		p.Taken++
	}
	if len(p.Changes) < maxChanges {
		p.Changes = append(p.Changes, Change{action, template, name})
	}
}
