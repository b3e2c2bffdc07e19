package importer

import (
	"time"

	"mcpgateway/models"
	"mcpgateway/services/catalog/changes"
)

// maxListed is the maximum number of listed changes; the counts have no limit.
const maxListed = 1000

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
	Members  []changes.Member // changed by an update
}

// Plan is the result of an import, or of a dry run. The lists are limited; the
// counts are not.
type Plan struct {
	Source    string // id
	DryRun    bool
	Held      bool // it removes too many rows, so nothing was or would be applied
	Same      bool // the document has not changed since the last import
	Had       int  // rows of the source before
	Fetched   int  // rows received from the source
	Added     int
	Updated   int
	Deleted   int
	Unchanged int
	Locked    int
	Conflicts int
	Skipped   int // invalid rows

	Changes  []Change
	Warnings []string // why rows were skipped, and which members were ignored

	history []models.CatalogChange
}

// Changed reports whether the import changes anything.
func (p *Plan) Changed() bool { return p.Added+p.Updated+p.Deleted > 0 }

// maxRemoved is the share of a source's rows, in percent, that one run removes
// without an approval.
const maxRemoved = 20

// RemovesTooMany reports whether the import removes more than 20 % of the rows
// that the source had.
func (p *Plan) RemovesTooMany() bool { return p.Deleted*100 > p.Had*maxRemoved }

// add counts and lists a change.
func (p *Plan) add(c Change) {
	switch c.Action {
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
	if len(p.Changes) < maxListed {
		p.Changes = append(p.Changes, c)
	}
}

// remember adds the change of a stored entry to the history of the entry.
func (p *Plan) remember(id string, at time.Time, c Change) {
	p.history = append(p.history, changes.New(id, at, "", "import."+string(c.Action), c.Members))
}
