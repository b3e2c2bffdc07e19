package code

import (
	"context"
	"strings"

	"mcpgateway/services/codemode"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/toolset"
	"mcpgateway/services/typescript"
	views "mcpgateway/views/admin/code"
)

// maxFunctions is the maximum number of functions in the list of the workbench.
const maxFunctions = 40

// functions returns the functions whose name or description contains find.
func (a *Pages) functions(ctx context.Context, p *toolset.Snapshot, find string) (views.Functions, error) {
	declared, err := a.Declarations.Full(ctx, p)
	if err != nil {
		return views.Functions{}, err
	}
	find = clipFilter(find)
	tools := toolset.ForModels(p.Tools)
	list := views.Functions{Find: find, All: len(tools), Tokens: typescript.SizeInTokens(declared.Text)}
	for _, tool := range tools {
		if !codemode.Matches(tool, find) {
			continue
		}
		if list.Matched++; list.Matched <= maxFunctions {
			list.Rows = append(list.Rows, functionOf(tool))
		}
	}
	return list, nil
}

func functionOf(tool *toolset.Tool) views.Function {
	f := typescript.FunctionOf(tool)
	row := views.Function{
		Server: tool.Server.Config.Alias, Call: f.Call, First: f.First, Parameters: f.Parameters, Optional: f.Optional, ReadOnly: codemode.EffectOf(tool.Definition) == codemode.EffectRead,
	}
	if o, err := rawjson.ParseObject(tool.Definition, rawjson.Lenient); err == nil {
		row.Destructive = string(o.Object("annotations").Get("destructiveHint")) == "true"
	}
	return row
}

// clipFilter returns a filter trimmed and limited to maxFilter bytes.
func clipFilter(text string) string {
	text = strings.TrimSpace(text)
	return strings.ToValidUTF8(text[:min(len(text), maxFilter)], "")
}

// namespaces returns the namespaces of the servers that are on.
func namespaces(p *toolset.Snapshot) []views.Namespace {
	var all []views.Namespace
	for _, server := range p.Servers {
		if server.Config.IsOffered() && len(all) < maxNamespaces {
			all = append(all, views.Namespace{Ident: typescript.Identifier(server.Config.Alias), Alias: server.Config.Alias})
		}
	}
	return all
}
