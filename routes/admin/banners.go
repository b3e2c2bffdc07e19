package admin

import (
	"context"

	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
	"mcpgateway/web/guard"
)

// WaitingCounter counts the servers that wait for a person.
type WaitingCounter interface {
	Count() int
}

// Banners returns the standing messages above every page of the
// administration: servers that wait for somebody to connect them.
func Banners(waiting WaitingCounter) func(ctx context.Context, role string) []layout.Banner {
	return func(_ context.Context, role string) []layout.Banner {
		n := waiting.Count()
		if n == 0 || role == guard.RoleMember {
			return nil
		}
		text := ui.Plural(n, "server waits", "servers wait") + " for an administrator to connect "
		if n == 1 {
			text += "it."
		} else {
			text += "them."
		}
		return []layout.Banner{{Tone: "warn", Text: text, LinkLabel: "See connections", LinkURL: paths.Connections}}
	}
}
