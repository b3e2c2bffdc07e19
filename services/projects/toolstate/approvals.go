package toolstate

import (
	"context"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/activity"
	"mcpgateway/services/fault"
)

// MaxApprovals is the maximum number of definitions per request.
const MaxApprovals = 500

// Definition identifies the definition of a tool that a user has reviewed.
type Definition struct {
	Name string // exported
	Hash string // as in models.Tool
}

// Approvals are the result of approving definitions, or of undoing it.
type Approvals struct {
	Done    []Definition // changed approvals
	Skipped []string     // tools whose definition has changed, or that no longer exist
}

// Approve approves definitions in one transaction. It skips a tool whose
// definition differs from the given one, so that nothing is approved unseen.
// Approved tools stay approved. It records each change as tool.approved. It
// returns NOT_FOUND for an unknown project, and INVALID_PARAMETER unless there
// are 1 to MaxApprovals definitions.
func (s *Store) Approve(ctx context.Context, slug string, seen []Definition) (Approvals, error) {
	return s.setApprovals(ctx, slug, seen, func(row *models.Tool, hash string) (result string, ok bool) {
		return hash, row.DefinitionHash == hash
	})
}

// Unapprove undoes approvals of Approve. It skips a tool whose approval has
// changed since. It records each change as tool.approval_withdrawn.
func (s *Store) Unapprove(ctx context.Context, slug string, approved []Definition) (Approvals, error) {
	return s.setApprovals(ctx, slug, approved, func(row *models.Tool, hash string) (result string, ok bool) {
		return "", row.ApprovedHash == hash
	})
}

func (s *Store) setApprovals(ctx context.Context, slug string, tools []Definition, decide func(row *models.Tool, hash string) (string, bool)) (Approvals, error) {
	if len(tools) == 0 || len(tools) > MaxApprovals {
		return Approvals{}, fault.Invalid("Select 1 to %d tools.", MaxApprovals)
	}
	var done Approvals
	err := s.change(ctx, slug, func(tx *gorm.DB, project *models.Project) (entries []activity.Entry, err error) {
		finder := newToolFinder(tx, project.ID)
		for _, t := range tools {
			changes, ok, err := approval(finder, project, t, decide)
			if err != nil {
				return nil, err
			}
			switch {
			case !ok:
				done.Skipped = append(done.Skipped, t.Name)
			case len(changes) > 0:
				done.Done = append(done.Done, t)
				entries = append(entries, changes...)
			}
		}
		return entries, nil
	})
	if err != nil {
		return Approvals{}, err
	}
	return done, nil
}

// approval changes the approval of one tool and returns the audit entries. ok
// is false if the tool's state differs from t.
func approval(finder *toolFinder, project *models.Project, t Definition, decide func(*models.Tool, string) (string, bool)) (entries []activity.Entry, ok bool, err error) {
	tool, err := finder.find(t.Name, models.LockRow(finder.tx)...)
	if err != nil || tool == nil || t.Hash == "" {
		return nil, false, err
	}
	hash, ok := decide(&tool.Tool, t.Hash)
	if !ok || hash == tool.ApprovedHash {
		return nil, ok, nil
	}
	changes := toolChanges{name: t.Name, project: project.Slug, tool: *tool}
	if err := changes.approve(finder.tx, hash != ""); err != nil {
		return nil, false, err
	}
	return changes.entries, true, nil
}
