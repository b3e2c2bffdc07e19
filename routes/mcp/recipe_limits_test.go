package mcp_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/declaration"
	"mcpgateway/services/fault"
	"mcpgateway/services/recipes"
)

// recipeOfLengths returns a recipe whose code, schema and description have these
// lengths.
func recipeOfLengths(t *testing.T, name string, code, schema, description int) string {
	t.Helper()
	const schemaStart, schemaEnd = `{"type":"object","description":"`, `"}`
	raw, err := json.Marshal(map[string]any{
		"name": name, "description": strings.Repeat("d", description),
		"code":        "return 1;" + strings.Repeat(" ", code-len("return 1;")),
		"inputSchema": json.RawMessage(schemaStart + strings.Repeat("s", schema-len(schemaStart+schemaEnd)) + schemaEnd),
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestLimitsOfRecipes(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		w := newRecipeWorld(t, dsn)
		const code, schema, text = declaration.MaxRecipeCode, declaration.MaxRecipeSchema, declaration.MaxDescription
		for i, tt := range []struct {
			name, body, field string // the field refused, or ""
		}{
			{"all but one", recipeOfLengths(t, strings.Repeat("a", 63), code-1, schema-1, text-1), ""},
			{"all", recipeOfLengths(t, strings.Repeat("a", 64), code, schema, text), ""},
			{"name", recipeOfLengths(t, strings.Repeat("a", 65), 100, 100, 100), "name"},
			{"code", recipeOfLengths(t, "code", code+1, 100, 100), "code"},
			{"schema", recipeOfLengths(t, "schema", 100, schema+1, 100), "inputSchema"},
			{"description", recipeOfLengths(t, "description", 100, 100, text+1), "description"},
			{"unknown type", `{"name":"typed","description":"x","code":"return 1","inputSchema":{"type":"object","properties":{"a":{"type":"strin"}}}}`, "inputSchema"},
		} {
			status := 201
			if tt.field != "" {
				status = 422
			}
			record := w.api(t, "POST", "/p/recipes", tt.body, status)
			if refused := fmt.Sprint(record["fields"]); tt.field != "" && !strings.Contains(refused, "map["+tt.field+":") {
				t.Errorf("%d %s: %v", i, tt.name, record)
			}
		}

		id := w.api(t, "POST", "/p/recipes", recipeOfLengths(t, "changed", 100, 100, 1), 201)["id"].(string)
		for version := 2; version <= recipes.MaxVersions+1; version++ {
			record := w.api(t, "PATCH", "/p/recipes/"+id, fmt.Sprintf(`{"description":"version %d"}`, version), 200)
			if kept := len(record["versions"].([]any)); kept != min(version, recipes.MaxVersions) {
				t.Fatalf("version %d: %d are kept", version, kept)
			}
		}

		project, err := w.Services.Directory.Project("p")
		if err != nil {
			t.Fatal(err)
		}
		for i := range recipes.MaxProposals + 1 {
			_, err := w.Services.Recipes.Propose(t.Context(), "p", models.RecipeProposal{
				ProjectID: project.Project.ID, Name: fmt.Sprint("p", i), Description: "x", InputSchema: recipes.EmptySchema, Code: "return 1",
				Effect: models.RecipeReads, Principal: fmt.Sprint("caller ", i/recipes.MaxProposalsOfPrincipal),
			})
			if full := i >= recipes.MaxProposals; full != fault.Is(err, fault.CodeConflict) || !full && err != nil {
				t.Errorf("proposal %d: %v", i+1, err)
			}
		}

		stored := len(w.api(t, "GET", "/p/recipes", "", 200)["items"].([]any)) - recipes.MaxProposals
		rows := make([]models.Recipe, declaration.MaxRecipes-1-stored)
		for i := range rows {
			rows[i] = models.Recipe{ID: fmt.Sprint("row", i), ProjectID: project.Project.ID, Name: fmt.Sprint("row", i), Description: "x", InputSchema: recipes.EmptySchema, Code: "return 1", Effect: models.RecipeReads, Version: 1}
		}
		if err := w.Services.DB.CreateInBatches(rows, 50).Error; err != nil {
			t.Fatal(err)
		}
		w.api(t, "POST", "/p/recipes", recipeOfLengths(t, "last", 100, 100, 1), 201)
		w.api(t, "POST", "/p/recipes", recipeOfLengths(t, "more", 100, 100, 1), 422)
	})
}
