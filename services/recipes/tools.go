package recipes

import (
	"slices"
	"strings"

	"mcpgateway/models"
	"mcpgateway/services/codemode"
	"mcpgateway/services/codemode/hints"
	"mcpgateway/services/fault"
	"mcpgateway/services/toolset"
	"mcpgateway/services/typescript"
)

// maxTools is the maximum number of tools that are stored for a recipe.
const maxTools = 100

// ToolsOf returns the exported names of the tools that code calls by name, sorted,
// without those of the gateway itself that are not recipes. Names that the code
// makes at run time are unknown.
func ToolsOf(code string) models.StringList {
	members, named := hints.Used(code)
	for _, m := range members {
		if alias, ok := typescript.AliasOf(m.Ident); ok {
			named = append(named, toolset.JoinName(alias, m.Name))
		}
	}
	tools := models.StringList{}
	for _, name := range named {
		if _, _, ok := toolset.SplitName(name); ok {
			tools = append(tools, strings.ToValidUTF8(name, "\ufffd"))
		}
	}
	slices.Sort(tools)
	tools = slices.Compact(tools)
	return tools[:min(len(tools), maxTools)]
}

// Missing returns the tools of a recipe that a snapshot, which may be a caller's
// view, doesn't have or doesn't show. A server whose tools are not known yet is
// not missing.
func Missing(project *toolset.Snapshot, recipe *models.Recipe) (missing []string) {
	for _, name := range recipe.Tools {
		if _, err := project.Resolve(name); fault.Is(err, fault.CodeToolNotFound) || fault.Is(err, fault.CodeToolDisabled) {
			missing = append(missing, name)
		}
	}
	return missing
}

// EffectOf proposes the effect of a recipe from the calls of a run: read if all
// calls read, destructive if a tool of the project declares it, else write.
func EffectOf(project *toolset.Snapshot, calls []codemode.CallRecord) models.RecipeEffect {
	effect := models.RecipeReads
	for _, call := range calls {
		if call.Effect != codemode.EffectRead {
			effect = models.RecipeWrites
		}
		if tool, err := project.Resolve(call.Tool); err == nil && tool.Access == toolset.AccessDestructive {
			return models.RecipeDestroys
		}
	}
	return effect
}

// IsOn reports whether no administrator has turned the tool of a recipe off.
func IsOn(project *toolset.Snapshot, recipe string) bool {
	return !slices.Contains(project.Project.DisabledTools, toolset.RecipeName(recipe))
}
