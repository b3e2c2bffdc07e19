package recipes

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"mcpgateway/models"
	"mcpgateway/services/declaration"
	"mcpgateway/services/fault"
)

// Proposals returns the proposals of a project, oldest first.
func (s *Store) Proposals(ctx context.Context, projectID string) ([]models.RecipeProposal, error) {
	var rows []models.RecipeProposal
	if err := s.db.WithContext(ctx).Order("created_at, id").Find(&rows, "project_id = ?", projectID).Error; err != nil {
		return nil, fault.Internal(err)
	}
	return rows, nil
}

// Proposal returns the proposal of a project with the id, or NOT_FOUND.
func (s *Store) Proposal(ctx context.Context, projectID, id string) (models.RecipeProposal, error) {
	return find[models.RecipeProposal](s.db.WithContext(ctx), id, "id = ? AND project_id = ?", id, projectID)
}

// Propose stores a proposal and records the audit action recipe.proposed. The row needs its
// project's ID, Name, Description, InputSchema, Code, Effect and Principal. It
// returns VALIDATION_FAILED with the problems by field, and CONFLICT if the
// project has MaxProposals or the principal MaxProposalsOfPrincipal of them.
func (s *Store) Propose(ctx context.Context, projectSlug string, row models.RecipeProposal) (models.RecipeProposal, error) {
	recipe := models.Recipe{Name: row.Name, Description: row.Description, InputSchema: row.InputSchema, Code: row.Code, Effect: row.Effect}
	problems := declarationOf(&recipe).Check()
	if why := declaration.CheckRecipeName(row.Name); why != "" {
		problems["name"] = why
	}
	if len(problems) == 0 {
		problems = validate(&recipe)
	}
	if len(problems) > 0 {
		return row, fault.Validation(problems)
	}
	err := s.write(ctx, projectSlug, func(w *Writer) error {
		stored, err := waiting(w, row.Principal)
		if err != nil {
			return err
		}
		row.ID, row.ProjectID, row.CreatedAt = uuid.Must(uuid.NewV7()).String(), w.Project.ID, w.Now
		row.InputSchema, row.Tools = declaration.CompactSchema(row.InputSchema), ToolsOf(row.Code)
		w.record("recipe.proposed", row.Name, row.ID, map[string]string{"principal": row.Principal, "waiting": fmt.Sprint(stored + 1)})
		return w.Tx.Create(&row).Error
	})
	return row, err
}

// waiting returns the number of proposals of the project, or CONFLICT if there
// can't be one more.
func waiting(w *Writer, principal string) (stored int64, err error) {
	all := w.Tx.Model(&models.RecipeProposal{}).Where("project_id = ?", w.Project.ID)
	if err := all.Count(&stored).Error; err != nil {
		return 0, err
	}
	var own int64
	if err := w.Tx.Model(&models.RecipeProposal{}).Where("project_id = ? AND principal = ?", w.Project.ID, principal).Count(&own).Error; err != nil {
		return 0, err
	}
	if stored >= MaxProposals || own >= MaxProposalsOfPrincipal {
		return 0, fault.Conflict("Too many proposed recipes wait for approval. An administrator must approve or reject some of them first.")
	}
	return stored, nil
}

func declarationOf(r *models.Recipe) *declaration.Recipe {
	return &declaration.Recipe{Description: &r.Description, InputSchema: &r.InputSchema, Code: &r.Code, Effect: &r.Effect}
}

// Approve saves a proposal with changed fields as a recipe, or as the next version
// of the recipe with its name, and deletes it. It records recipe.approved in
// addition to the entry of Create or Update. It returns NOT_FOUND, and the faults
// of Create.
func (s *Store) Approve(ctx context.Context, projectSlug, id string, name *string, d *declaration.Recipe) (models.Recipe, error) {
	var saved Saved
	err := s.write(ctx, projectSlug, func(w *Writer) error {
		row, err := find[models.RecipeProposal](w.Tx, id, "id = ? AND project_id = ?", id, w.Project.ID)
		if err != nil {
			return err
		}
		recipe := models.Recipe{Description: row.Description, InputSchema: row.InputSchema, Code: row.Code, Effect: row.Effect}
		merge(&recipe, d)
		if name == nil {
			name = &row.Name
		}
		if saved, err = w.Save(*name, declarationOf(&recipe)); err != nil {
			return err
		}
		w.record("recipe.approved", *name, saved.Recipe.ID, map[string]string{"proposal": row.ID, "principal": row.Principal})
		return w.Tx.Delete(&models.RecipeProposal{}, "id = ?", row.ID).Error
	})
	return saved.Recipe, err
}

// Reject deletes a proposal and records recipe.rejected. It returns NOT_FOUND.
func (s *Store) Reject(ctx context.Context, projectSlug, id string) error {
	return s.write(ctx, projectSlug, func(w *Writer) error {
		row, err := find[models.RecipeProposal](w.Tx, id, "id = ? AND project_id = ?", id, w.Project.ID)
		if err != nil {
			return err
		}
		w.record("recipe.rejected", row.Name, row.ID, map[string]string{"principal": row.Principal})
		return w.Tx.Delete(&models.RecipeProposal{}, "id = ?", row.ID).Error
	})
}
