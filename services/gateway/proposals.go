package gateway

import (
	"context"
	"encoding/json"
	"fmt"

	"mcpgateway/models"
	"mcpgateway/services/activity"
	"mcpgateway/services/arguments"
	"mcpgateway/services/codemode"
	"mcpgateway/services/declaration"
	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/recipes"
	"mcpgateway/services/toolset"
)

// Proposals store recipes that clients propose. Implemented by recipes.Store.
type Proposals interface {
	Propose(ctx context.Context, projectSlug string, row models.RecipeProposal) (models.RecipeProposal, error)
}

// saveArgument is the argument save of gateway_executeTool: the recipe that the
// code is proposed as.
type saveArgument struct{ name, description string }

// readSave returns the argument save, or nil if it is absent. It returns
// INVALID_PARAMETER and CONFLICTING_PARAMETERS before anything runs.
func (g *Gateway) readSave(client *Client, given *rawjson.Object) (*saveArgument, error) {
	raw := given.Get("save")
	if raw == nil {
		return nil, nil
	}
	o, err := arguments.Read(raw, "name", "description")
	if err != nil {
		return nil, fault.Invalid("save: %s", fault.From(err).Message)
	}
	name, named := o.String("name")
	description, described := o.String("description")
	switch {
	case rawjson.Kind(given.Get("dryRun")) == 't':
		return nil, arguments.Conflict("save cannot be combined with dryRun. Run the code first, then save it.")
	case !named || !described || description == "":
		return nil, fault.Invalid("save requires name and description, both strings. The description says what the recipe does.")
	case declaration.CheckRecipeName(name) != "":
		return nil, fault.Invalid("save.name: %s.", declaration.CheckRecipeName(name))
	case g.Proposals == nil || client.Principal.IsAnonymous():
		return nil, fault.Invalid("save needs a key or a sign-in: recipes of anonymous callers are not accepted.")
	}
	return &saveArgument{name: name, description: description}, nil
}

// propose proposes the code of a finished run as a recipe and returns a sentence
// about it for the caller. A failed run is not proposed.
func (g *Gateway) propose(ctx context.Context, project *toolset.Snapshot, client *Client, save *saveArgument, q *codemode.Request, outcome *codemode.Outcome) (string, error) {
	if !outcome.OK {
		return fmt.Sprintf("The recipe %s was not proposed, because the code failed.", save.name), nil
	}
	ctx = activity.WithActor(ctx, activity.Actor{Kind: activity.ActorClient, ID: client.Principal.ID(), Name: client.Principal.ID(), RequestID: client.RequestID})
	_, err := g.Proposals.Propose(ctx, project.Project.Slug, models.RecipeProposal{
		Name: save.name, Description: save.description, InputSchema: recipes.SchemaOf(q.Input), Code: q.Code, Effect: recipes.EffectOf(project, outcome.Calls),
		Principal: client.Principal.ID(), RunID: q.TraceID,
	})
	f := fault.From(err)
	switch {
	case err == nil:
		return fmt.Sprintf("Proposed as the recipe %s. It can be used after an administrator or maintainer of the project has approved it.", save.name), nil
	case len(f.Fields) > 0:
		fields, _ := json.Marshal(f.Fields) // strings always marshal
		return fmt.Sprintf("The recipe %s was not proposed: %s", save.name, fields), nil
	case f.Kind == fault.KindConflict:
		return fmt.Sprintf("The recipe %s was not proposed. %s", save.name, f.Message), nil
	}
	return "", err
}
