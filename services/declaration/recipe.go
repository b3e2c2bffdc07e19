package declaration

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"mcpgateway/models"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/toolset"
)

// Recipe is the desired state of one recipe. A nil field is unchanged.
type Recipe struct {
	Description *string
	InputSchema *string // JSON of an object
	Code        *string
	Effect      *models.RecipeEffect
}

var recipeForm = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)

// CheckRecipeName returns the problem of a recipe's name, or "".
func CheckRecipeName(name string) string {
	if !recipeForm.MatchString(name) || strings.Contains(name, toolset.Separator) {
		return "use 1 to 64 lower-case letters, digits and single underscores, beginning with a letter"
	}
	return ""
}

// Check returns the problems of the recipe by field.
func (d *Recipe) Check() map[string]string {
	r, checked := newReader(), *d
	r.recipeFields(&checked).check("")
	return r.problems
}

// ParseRecipe parses a recipe in a request: its keys in the declarative file,
// name and enabled, which are nil if absent. It returns VALIDATION_FAILED with
// every problem by path.
func ParseRecipe(raw []byte) (name *string, enabled *bool, d *Recipe, err error) {
	d = &Recipe{}
	err = parseRecord(raw, func(r *reader, o *rawjson.Object) {
		known := r.recipeFields(d)
		known["name"], known["enabled"] = r.text(&name, 64), r.boolean(&enabled)
		r.readOnly(known, "id", "projectSlug", "tool", "state", "version", "versions", "tools", "missing", "proposedBy", "runId", "createdAt", "updatedAt")
		r.members("", o, known)
	})
	return name, enabled, d, err
}

// recipeFields returns the keys of a recipe.
func (r *reader) recipeFields(d *Recipe) fields {
	schema := func(raw []byte) (string, bool) { return string(raw), rawjson.Kind(raw) == '{' }
	return fields{
		"description": r.text(&d.Description, MaxDescription),
		"inputSchema": value(r, &d.InputSchema, "use a JSON Schema object", schema, checkInputSchema),
		"code":        value(r, &d.Code, "use a string", rawjson.String, checkRecipeCode),
		"effect":      oneOf(r, &d.Effect, models.RecipeReads, models.RecipeWrites, models.RecipeDestroys),
	}
}

// checkInputSchema returns a schema without insignificant white space, and its
// problem or "". Whether it can be checked is decided when the recipe is saved.
func checkInputSchema(text string) (string, string) {
	if len(text) > MaxRecipeSchema {
		return "", fmt.Sprintf("use at most %d bytes", MaxRecipeSchema)
	}
	o, err := rawjson.ParseObject([]byte(text), rawjson.Strict)
	if err != nil {
		return "", "use a JSON Schema object"
	}
	switch kind := o.Get("type"); {
	case kind == nil:
	case strings.TrimSpace(string(kind)) != `"object"`:
		return "", `use a schema with "type": "object", because the input of a tool is an object`
	}
	return CompactSchema(string(o.Bytes())), ""
}

// CompactSchema returns a valid input schema without insignificant white space, and
// with its type.
func CompactSchema(text string) string {
	o, err := rawjson.ParseObject([]byte(text), rawjson.Strict)
	if err != nil {
		return text
	}
	if o.Get("type") == nil {
		o.Set("type", []byte(`"object"`))
	}
	var compact bytes.Buffer
	if json.Compact(&compact, o.Bytes()) != nil {
		return text
	}
	return compact.String()
}

func checkRecipeCode(code string) (string, string) {
	switch {
	case strings.TrimSpace(code) == "":
		return "", "enter some code"
	case len(code) > MaxRecipeCode:
		return "", fmt.Sprintf("use at most %d KiB of code", MaxRecipeCode>>10)
	case strings.ContainsRune(code, 0):
		return "", "null characters are not allowed"
	}
	return string([]rune(code)), ""
}

// TooManyRecipes returns the problem of a project with more than MaxRecipes.
func TooManyRecipes() string {
	return fmt.Sprintf("a project can have at most %d recipes", MaxRecipes)
}

// recipes returns the field of a project's recipes by name.
func (r *reader) recipes(d *Project) field {
	bound := func(path string) {
		if len(d.Recipes) > MaxRecipes {
			r.problem(path, TooManyRecipes())
		}
	}
	read := func(path string, raw []byte) {
		d.Recipes = map[string]*Recipe{}
		r.each(path, raw, func(name, path string, v []byte) {
			if why := CheckRecipeName(name); why != "" {
				r.problem(path, why)
			}
			recipe := &Recipe{}
			r.object(path, v, r.recipeFields(recipe))
			d.Recipes[name] = recipe
		})
		bound(path)
	}
	check := func(path string) {
		for _, name := range slices.Sorted(maps.Keys(d.Recipes)) {
			path := Join(path, name)
			if why := CheckRecipeName(name); why != "" {
				r.problem(path, why)
			}
			if d.Recipes[name] == nil {
				r.problem(path, "use an object")
				continue
			}
			recipe := *d.Recipes[name]
			r.recipeFields(&recipe).check(path)
		}
		bound(path)
	}
	return field{read: read, check: check}
}
