package override

import (
	"context"
	"strings"

	"mcpgateway/models"
	"mcpgateway/services/secrets"
)

// Secrets returns a function that returns the secrets of other and those that
// overrides refer to, because servers may repeat their arguments. Unavailable ones
// are omitted: calls that need them fail. other may be nil.
func Secrets(overrides models.ToolOverrides, resolver Resolver, other func(context.Context) []secrets.Value) func(context.Context) []secrets.Value {
	references := References(overrides)
	if len(references) == 0 {
		return other
	}
	return func(ctx context.Context) (found []secrets.Value) {
		if other != nil {
			found = other(ctx)
		}
		for _, reference := range references {
			if v, err := resolver.Resolve(reference, ""); err == nil {
				found = append(found, secrets.NewValue(strings.TrimPrefix(v.Reveal(), "Bearer ")))
			}
		}
		return found
	}
}
