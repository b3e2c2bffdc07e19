package toolset

import (
	"encoding/json"
	"slices"
	"strings"

	"mcpgateway/models"
	"mcpgateway/services/upstream"
)

// withRecipes adds the part of the gateway itself to the parts of a project's
// servers, in the order of aliases. It adds none without recipes, or if an old
// server has the alias of the gateway.
func withRecipes(all []*serverPart, before *Snapshot, s settings, project *models.Project, recipes []models.Recipe) []*serverPart {
	if len(recipes) == 0 {
		return all
	}
	at, taken := slices.BinarySearchFunc(all, GatewayAlias, func(p *serverPart, alias string) int { return strings.Compare(p.server.Config.Alias, alias) })
	if taken || slices.ContainsFunc(all, func(p *serverPart) bool { return strings.EqualFold(p.server.Config.Alias, GatewayAlias) }) {
		return all
	}
	synced := project.UpdatedAt
	server := &Server{
		Config:    models.Server{ProjectID: project.ID, Alias: GatewayAlias, AliasFold: GatewayAlias, Enabled: true},
		Inventory: &models.Inventory{SyncedAt: &synced}, Target: &upstream.Target{}, IsGateway: true,
	}
	tools := make([]models.Tool, len(recipes))
	for i := range recipes {
		definition := string(RecipeDefinition(&recipes[i]))
		tools[i] = models.Tool{Name: recipes[i].Name, Position: i, Definition: definition, DefinitionHash: HashDefinition([]byte(definition)), ChangedAt: recipes[i].UpdatedAt}
	}
	p := newPart(before, server, s, tools, nil)
	for i, t := range p.all { // one for each recipe, whose definitions are valid objects
		t.Recipe = &recipes[i]
		if !project.CodeModeEnabled && t.Hidden == Visible {
			t.Hidden = HiddenByCodeMode
		}
	}
	if !project.CodeModeEnabled {
		p.shown, p.handshake = nil, false
	}
	return slices.Insert(all, at, p)
}

// RecipeDefinition returns the raw definition of a recipe's tool. Its annotations
// follow from the declared effect.
func RecipeDefinition(r *models.Recipe) []byte {
	type annotations struct {
		ReadOnly    bool `json:"readOnlyHint"`
		Destructive bool `json:"destructiveHint"`
		OpenWorld   bool `json:"openWorldHint"`
	}
	raw, err := json.Marshal(struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		InputSchema json.RawMessage `json:"inputSchema"`
		Annotations annotations     `json:"annotations"`
	}{r.Name, r.Description, json.RawMessage(r.InputSchema), annotations{r.Effect == models.RecipeReads, r.Effect == models.RecipeDestroys, true}})
	if err != nil { // the store accepts only valid schemas
		raw, _ = json.Marshal(map[string]any{"name": r.Name, "description": r.Description, "inputSchema": map[string]string{"type": "object"}})
	}
	return raw
}

// RecipeName returns the exported name of a recipe's tool.
func RecipeName(recipe string) string { return JoinName(GatewayAlias, recipe) }

// HasRecipes reports whether recipes of the project can be tools: no old server
// has the alias of the gateway.
func (s *Snapshot) HasRecipes() bool {
	return !slices.ContainsFunc(s.Servers, func(server *Server) bool { return strings.EqualFold(server.Config.Alias, GatewayAlias) })
}
