package credentials

import (
	"context"
	"strings"

	"mcpgateway/models"
	"mcpgateway/services/secrets"
	"mcpgateway/services/toolset/override"
)

// withOverrides returns a function that returns the secrets of other and those
// that arguments in overrides refer to. Servers may repeat their arguments.
// Missing ones are left out: calls that need them fail. other may be nil.
func withOverrides(row models.Server, resolver Resolver, other func(context.Context) []secrets.Value) func(context.Context) []secrets.Value {
	references := override.References(row.ToolOverrides)
	if len(references) == 0 {
		return other
	}
	return func(ctx context.Context) (found []secrets.Value) {
		if other != nil {
			found = other(ctx)
		}
		for _, reference := range references {
			if v, err := resolver.Resolve(reference, ""); err == nil {
				found = append(found, secrets.NewValue(strings.TrimPrefix(v.Reveal(), bearerPrefix)))
			}
		}
		return found
	}
}
