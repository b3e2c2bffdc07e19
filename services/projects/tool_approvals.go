package projects

import (
	"context"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/activity"
	"mcpgateway/services/fault"
	"mcpgateway/services/notify"
)

// MaxApprovals is the maximum number of definitions per request.
const MaxApprovals = 500

// ToolDefinition identifies the definition of a tool that a user has reviewed.
type ToolDefinition struct {
	Name string // exported
	Hash string // as in models.Tool
}

// Approvals are the result of approving definitions, or of undoing it.
type Approvals struct {
	Done    []ToolDefinition // changed approvals
	Skipped []string         // tools whose definition has changed, or that no longer exist
}

// Approve approves definitions in one transaction. It skips a tool whose
// definition differs from the given one, so that nothing is approved unseen.
// Approved tools stay approved. It records each change as tool.approved. It
// returns NOT_FOUND for an unknown project, and INVALID_PARAMETER unless there
// are 1 to MaxApprovals definitions.
func (s *Store) Approve(ctx context.Context, slug string, seen []ToolDefinition) (Approvals, error) {
	return s.setApprovals(ctx, slug, seen, func(row *models.Tool, hash string) (result string, ok bool) {
		return hash, row.DefinitionHash == hash
	})
}

// Unapprove undoes approvals of Approve. It skips a tool whose approval has
// changed since. It records each change as tool.approval_withdrawn.
func (s *Store) Unapprove(ctx context.Context, slug string, approved []ToolDefinition) (Approvals, error) {
	return s.setApprovals(ctx, slug, approved, func(row *models.Tool, hash string) (result string, ok bool) {
		return "", row.ApprovedHash == hash
	})
}

func (s *Store) setApprovals(ctx context.Context, slug string, tools []ToolDefinition, decide func(row *models.Tool, hash string) (string, bool)) (Approvals, error) {
	if len(tools) == 0 || len(tools) > MaxApprovals {
		return Approvals{}, fault.Invalid("Select 1 to %d tools.", MaxApprovals)
	}
	project, err := s.Project(ctx, slug)
	if err != nil {
		return Approvals{}, err
	}
	var done Approvals
	topic := notify.Toolset(project.ID)
	err = s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		// Locked for other writers, in the same order as in SetTool.
		err := tx.Clauses(models.LockRow(tx)...).First(&project, "id = ?", project.ID).Error
		if err := notFound(err, "project", slug); err != nil {
			return err
		}
		var entries []activity.Entry
		finder := newToolFinder(tx, project.ID)
		for _, t := range tools {
			changes, ok, err := approval(finder, &project, t, decide)
			if err != nil {
				return err
			}
			switch {
			case !ok:
				done.Skipped = append(done.Skipped, t.Name)
			case len(changes) > 0:
				done.Done = append(done.Done, t)
				entries = append(entries, changes...)
			}
		}
		if err := s.audit.RecordAll(tx, entries); err != nil {
			return err
		}
		return notify.Touch(tx, topic)
	})
	if err != nil {
		return Approvals{}, fault.From(err)
	}
	return done, s.feed.Publish(ctx, topic)
}

// approval changes the approval of one tool and returns the audit entries. ok
// is false if the tool's state differs from t.
func approval(finder *toolFinder, project *models.Project, t ToolDefinition, decide func(*models.Tool, string) (string, bool)) (entries []activity.Entry, ok bool, err error) {
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
