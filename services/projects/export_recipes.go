package projects

import (
	"bytes"
	"context"
	"encoding/json"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/recipes"
)

// exportRecipe has every key of a recipe.
type exportRecipe struct {
	Description string              `json:"description"`
	InputSchema json.RawMessage     `json:"inputSchema"`
	Code        string              `json:"code"`
	Effect      models.RecipeEffect `json:"effect"`
}

// recipesFile returns the exported recipes of a project by name.
func (s *Store) recipesFile(ctx context.Context, projectID string) (map[string]exportRecipe, error) {
	rows, err := recipes.Of(s.db.WithContext(ctx), projectID)
	if err != nil {
		return nil, err
	}
	file := make(map[string]exportRecipe, len(rows))
	for _, row := range rows {
		file[row.Name] = recipeFile(&row)
	}
	return file, nil
}

func recipeFile(row *models.Recipe) exportRecipe {
	return exportRecipe{Description: row.Description, InputSchema: json.RawMessage(row.InputSchema), Code: row.Code, Effect: row.Effect}
}

// ExportRecipe returns the part of the declarative file with only this recipe of
// the project with the slug.
func ExportRecipe(slug string, row *models.Recipe) (string, error) {
	type project struct {
		Recipes map[string]exportRecipe `json:"recipes"`
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(map[string]map[string]project{"projects": {slug: {map[string]exportRecipe{row.Name: recipeFile(row)}}}})
	if err != nil {
		return "", fault.Internal(err)
	}
	return b.String(), nil
}
