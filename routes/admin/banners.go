package admin

import (
	"context"

	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
	"mcpgateway/web/guard"
)

// WaitingCounter counts the servers that need a user to authorize them.
type WaitingCounter interface {
	Count() int
}

// Banners returns the banners above every admin page: the number of servers that
// an administrator has to connect.
func Banners(waiting WaitingCounter) func(ctx context.Context, role string) []layout.Banner {
	return func(_ context.Context, role string) []layout.Banner {
		n := waiting.Count()
		if n == 0 || role == guard.RoleMember {
			return nil
		}
		text := ui.Plural(n, "server needs", "servers need") + " to be connected."
		return []layout.Banner{{Tone: "warn", Text: text, LinkLabel: "Review", LinkURL: paths.Connections}}
	}
}
