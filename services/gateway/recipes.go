package gateway

import (
	"context"
	"errors"
	"sync/atomic"

	"mcpgateway/models"
	"mcpgateway/services/codemode"
	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/recipes"
	"mcpgateway/services/toolset"
)

// Limits of recipes that call recipes.
const (
	// MaxRecipeDepth is the maximum number of recipes that run inside each other.
	MaxRecipeDepth = 3
	// MaxNestedCalls is the maximum number of calls of a run together with those of
	// the recipes that it calls.
	MaxNestedCalls = 500
)

// nesting is the state that a run shares with the recipes that it calls.
type nesting struct {
	depth       int           // recipes around and including the run
	calls       *atomic.Int64 // of the outermost run and everything inside it
	slot        chan struct{} // held by the recipe that the run waits for: one at a time
	dryRun      bool
	unavailable atomic.Bool // the run called a tool that the caller's view doesn't show
}

// newNesting returns the state of a run of a client. recipe reports whether it
// runs a recipe.
func newNesting(client *Client, recipe, dryRun bool) *nesting {
	n := &nesting{calls: &atomic.Int64{}, slot: make(chan struct{}, 1), dryRun: dryRun}
	if outer := client.nesting; outer != nil {
		n.depth, n.calls = outer.depth, outer.calls
	}
	if recipe {
		n.depth++
	}
	return n
}

// admit counts one call of the run and returns a fault beyond MaxNestedCalls.
func (n *nesting) admit() error {
	if n.calls.Add(1) > MaxNestedCalls {
		return fault.Invalid("This run and the recipes that it calls have made %d calls together, which is the maximum.", MaxNestedCalls)
	}
	return nil
}

// note remembers that a call failed because the caller's view doesn't have its
// tool.
func (n *nesting) note(err error) {
	if fault.Is(err, fault.CodeToolNotFound) || fault.Is(err, fault.CodeToolDisabled) {
		n.unavailable.Store(true)
	}
}

// callRecipe handles tools/call of a recipe, whose tool was found in the caller's
// view. Its code runs with the caller's tools and limits. Input that doesn't
// match the recipe's schema is INVALID_PARAMETER. A recipe that the caller lacks
// tools for is not run, and its result has an error without their names.
func (g *Gateway) callRecipe(ctx context.Context, project *toolset.Snapshot, client *Client, tool *toolset.Tool, params *rawjson.Object, trace *RequestInfo) ([]byte, error) {
	trace.Server, trace.Tool = toolset.GatewayAlias, clip(tool.FullName)
	recipe, input := tool.Recipe, params.Get("arguments")
	if input == nil {
		input = []byte("{}")
	}
	if len(input) > codemode.MaxInput {
		return nil, fault.Invalid("The input has %d bytes; the maximum is %d.", len(input), codemode.MaxInput)
	}
	if g.Arguments == nil {
		return nil, fault.Internal(errors.New("no check of the input of recipes"))
	}
	if err := g.Arguments.Check(tool.Definition, input); err != nil {
		return nil, err
	}
	if len(recipes.Missing(project, recipe)) > 0 {
		return g.recipeFailure(project, client, "This recipe calls tools that are not available to you, so it was not run. Ask an administrator of the project.")
	}
	if outer := client.nesting; outer != nil {
		if outer.depth >= MaxRecipeDepth {
			return g.recipeFailure(project, client, "Recipes can call recipes only to a depth of 3. This one was not run.")
		}
		select {
		case outer.slot <- struct{}{}:
			defer func() { <-outer.slot }()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if err := g.charge(project, client, tool); err != nil {
		return nil, err
	}
	q := codemode.Request{
		ProjectID: project.Project.ID, Principal: client.Principal.ID(), Recipe: recipe.Name, Code: recipe.Code, Input: input,
		ReadOnly: recipe.Effect == models.RecipeReads, Nested: client.nesting != nil, DryRun: client.nesting != nil && client.nesting.dryRun,
		Typecheck: codemode.TypecheckOff, Progress: codeProgress(client, params),
	}
	around := newNesting(client, true, q.DryRun)
	outcome, err := g.runNested(ctx, project, client, q, around)
	if err != nil {
		return nil, err
	}
	return g.recipeResult(ctx, project, client, outcome, around.unavailable.Load())
}

// recipeResult returns the outcome of a recipe as a raw CallToolResult: what its
// code returned, without the console. Code gets the value itself.
func (g *Gateway) recipeResult(ctx context.Context, project *toolset.Snapshot, client *Client, outcome codemode.Outcome, unavailable bool) ([]byte, error) {
	if !outcome.OK && unavailable {
		return g.recipeFailure(project, client, "This recipe failed because it called tools that are not available to you. Calls before that may have taken effect. Ask an administrator of the project.")
	}
	isCut := outcome.Truncated != nil && outcome.Truncated.Result > 0
	value := []byte(outcome.Result)
	if client.Code && outcome.OK && len(outcome.Blocks) == 0 {
		switch {
		case isCut:
			return g.recipeFailure(project, client, "The result of the recipe is too large for code. Its author can return less.")
		case len(value) == 0 || rawjson.Kind(value) == 'n':
			return []byte("{}"), nil
		}
		return append(append([]byte(`{"structuredContent":`), value...), '}'), nil
	}
	outcome.Logs, outcome.Hints = nil, nil
	result, err := outcome.ToolResult(client.supportsBlock)
	if err != nil {
		return nil, fault.Internal(err)
	}
	if err := reserveResult(ctx, client, len(result)); err != nil {
		return nil, err
	}
	o, err := rawjson.ParseObject(result, rawjson.Lenient)
	if err != nil {
		return nil, fault.Internal(err)
	}
	if outcome.OK && !isCut && len(outcome.Blocks) == 0 && rawjson.Kind(value) == '{' && client.Version >= VersionStructured {
		o.Set("structuredContent", value)
	} else {
		o.Delete("structuredContent")
	}
	if client.Stateless() {
		return g.addResultMeta(project, o.Bytes())
	}
	return o.Bytes(), nil
}

// recipeFailure returns a raw CallToolResult with isError and a message.
func (g *Gateway) recipeFailure(project *toolset.Snapshot, client *Client, message string) ([]byte, error) {
	result := rawjson.AppendString([]byte(`{"content":[{"type":"text","text":`), message)
	result = append(result, `}],"isError":true}`...)
	if client.Stateless() {
		return g.addResultMeta(project, result)
	}
	return result, nil
}
