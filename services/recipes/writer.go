package recipes

import (
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/activity"
	"mcpgateway/services/declaration"
	"mcpgateway/services/fault"
	"mcpgateway/services/notify"
	"mcpgateway/services/sandbox"
	"mcpgateway/services/schema"
	"mcpgateway/services/toolset"
)

// Writer changes the recipes of one project in the caller's transaction, which has
// locked the project. The caller records Entries and publishes Topics.
type Writer struct {
	Tx      *gorm.DB
	Project *models.Project
	Now     time.Time
	Entries []activity.Entry
	Topics  map[notify.Topic]bool
}

// Saved is a recipe after a change.
type Saved struct {
	Recipe  models.Recipe
	Created bool
	Fields  []string // changed ones; empty for a new recipe
}

func (w *Writer) get(id string) (models.Recipe, error) {
	return find[models.Recipe](w.Tx, id, "id = ? AND project_id = ?", id, w.Project.ID)
}

// Save creates the recipe with the name or applies the declared fields to it, as
// its next version. It returns VALIDATION_FAILED with the problems by field, and
// CONFLICT if a server has the alias of recipes.
func (w *Writer) Save(name string, d *declaration.Recipe) (Saved, error) {
	if problems := d.Check(); len(problems) > 0 {
		return Saved{}, fault.Validation(problems)
	}
	if why := declaration.CheckRecipeName(name); why != "" {
		return Saved{}, fault.Validation(map[string]string{"name": why})
	}
	row, err := named(w.Tx, w.Project.ID, name)
	found := err == nil
	if err != nil && !fault.Is(err, fault.CodeNotFound) {
		return Saved{}, err
	}
	if !found {
		if err := w.admit(); err != nil {
			return Saved{}, err
		}
		row = models.Recipe{
			ID: uuid.Must(uuid.NewV7()).String(), ProjectID: w.Project.ID, Name: name, InputSchema: EmptySchema, Effect: models.RecipeWrites, CreatedAt: w.Now,
		}
	}
	fields := merge(&row, d)
	if problems := validate(&row); len(problems) > 0 {
		return Saved{}, fault.Validation(problems)
	}
	if found && len(fields) == 0 {
		return Saved{Recipe: row}, nil
	}
	row.UpdatedAt, row.Tools = w.Now, ToolsOf(row.Code)
	row.Version++
	w.Topics[notify.Toolset(w.Project.ID)] = true
	detail := map[string]string{"version": strconv.FormatInt(row.Version, 10), "effect": string(row.Effect)}
	if !found {
		w.record("recipe.created", row.Name, row.ID, detail)
		if err := w.Tx.Create(&row).Error; err != nil {
			return Saved{}, err
		}
		return Saved{Recipe: row, Created: true}, w.keep(&row)
	}
	detail["fields"] = strings.Join(fields, ", ")
	w.record("recipe.updated", row.Name, row.ID, detail)
	if err := w.Tx.Save(&row).Error; err != nil {
		return Saved{}, err
	}
	return Saved{Recipe: row, Fields: fields}, w.keep(&row)
}

// admit returns a fault if the project can't have one more recipe.
func (w *Writer) admit() error {
	var stored int64
	if err := w.Tx.Model(&models.Recipe{}).Where("project_id = ?", w.Project.ID).Count(&stored).Error; err != nil {
		return err
	}
	if stored >= declaration.MaxRecipes {
		return fault.Validation(map[string]string{"recipes": declaration.TooManyRecipes()})
	}
	var servers int64
	if err := w.Tx.Model(&models.Server{}).Where("project_id = ? AND alias_fold = ?", w.Project.ID, toolset.GatewayAlias).Count(&servers).Error; err != nil {
		return err
	}
	if servers > 0 {
		return conflict("A server of this project has the alias %q, which is that of recipes. Change the alias of the server first.", toolset.GatewayAlias)
	}
	return nil
}

// keep stores the row as a version and deletes those beyond MaxVersions.
func (w *Writer) keep(row *models.Recipe) error {
	actor := activity.ActorOf(w.Tx.Statement.Context)
	by := actor.Name
	if by == "" {
		by = string(actor.Kind)
	}
	version := models.RecipeVersion{
		RecipeID: row.ID, Version: row.Version, Description: row.Description, InputSchema: row.InputSchema, Code: row.Code, Effect: row.Effect, Tools: row.Tools,
		SavedBy: by, SavedAt: w.Now,
	}
	if err := w.Tx.Create(&version).Error; err != nil {
		return err
	}
	return w.Tx.Delete(&models.RecipeVersion{}, "recipe_id = ? AND version <= ?", row.ID, row.Version-MaxVersions).Error
}

// Delete deletes a recipe with its versions.
func (w *Writer) Delete(row *models.Recipe) error {
	w.record("recipe.deleted", row.Name, row.ID, map[string]string{"version": strconv.FormatInt(row.Version, 10)})
	w.Topics[notify.Toolset(w.Project.ID)] = true
	return w.Tx.Delete(&models.Recipe{}, "id = ?", row.ID).Error // with its rows in recipe_versions
}

func (w *Writer) record(action, name, id string, detail map[string]string) {
	w.Entries = append(w.Entries, activity.Entry{Action: action, Object: name, ObjectID: id, Project: w.Project.Slug, Detail: detail})
}

// merge applies the declared fields to the row and returns the declarative names
// of the changed ones.
func merge(row *models.Recipe, d *declaration.Recipe) (changed []string) {
	set := func(name string, stored, declared *string) {
		if declared != nil && *declared != *stored {
			*stored = *declared
			changed = append(changed, name)
		}
	}
	set("description", &row.Description, d.Description)
	if d.InputSchema != nil {
		compact := declaration.CompactSchema(*d.InputSchema)
		set("inputSchema", &row.InputSchema, &compact)
	}
	set("code", &row.Code, d.Code)
	set("effect", (*string)(&row.Effect), (*string)(d.Effect))
	return changed
}

// validate returns the problems of a whole recipe by field.
func validate(row *models.Recipe) map[string]string {
	problems := map[string]string{}
	if strings.TrimSpace(row.Description) == "" {
		problems["description"] = "enter what the recipe does: models choose it by this text"
	}
	if row.Code == "" {
		problems["code"] = "enter some code"
	} else if err := sandbox.Check(row.Code); err != nil {
		problems["code"] = "correct the syntax: " + err.Error()
	}
	if why := schema.Problem([]byte(row.InputSchema)); why != "" {
		problems["inputSchema"] = "correct the schema: " + why
	} else if why := schema.NewValidator().UncheckedReason(toolset.RecipeDefinition(row)); why != "" {
		problems["inputSchema"] = "inputs can't be checked against this schema: " + why
	}
	return problems
}
