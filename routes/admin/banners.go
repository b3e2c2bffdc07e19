package admin

import (
	"context"
	"strings"

	"mcpgateway/services/access/reach"
	"mcpgateway/services/oauthclient"
	"mcpgateway/services/toolset"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
	"mcpgateway/web/guard"
)

// maxBannerNames is the maximum number of servers that a banner names.
const maxBannerNames = 4

// PendingServers returns the servers that an administrator must authorize.
// Implemented by oauthclient.PendingAuth.
type PendingServers interface {
	Servers() []oauthclient.PendingServer
}

// OpenRequests are the open requests for servers of the catalog. Implemented by
// requests.Store.
type OpenRequests interface {
	// Waiting returns their number and the names of the first servers.
	Waiting(ctx context.Context, names int) (int, []string, error)
}

// Banners returns the banners above every admin page: the servers that an
// administrator, or a maintainer of their project, has to connect, and for
// administrators the open requests for servers.
func Banners(directory *toolset.Directory, waiting PendingServers, requests OpenRequests) func(ctx context.Context, role string) []layout.Banner {
	return func(ctx context.Context, role string) []layout.Banner {
		var banners []layout.Banner
		if role == guard.RoleAdmin {
			banners = requestBanner(ctx, requests)
		}
		mine := reach.Of(ctx)
		servers := PendingOf(mine, directory, waiting)
		if len(servers) == 0 {
			return banners
		}
		b := layout.Banner{Tone: "warn", Text: bannerText(servers), LinkLabel: "Review", LinkURL: paths.Connections}
		if len(servers) == 1 {
			b.LinkURL = paths.Connection(servers[0].ID)
			if role == guard.RoleAdmin || !mine.SeesAll() {
				b.LinkLabel, b.LinkURL = "Connect", paths.StartConnection(servers[0].ID)
				if servers[0].WasConnected {
					b.LinkLabel = "Reconnect"
				}
			}
		}
		return append([]layout.Banner{b}, banners...)
	}
}

// requestBanner returns the banner of the open requests, or none, also if they
// can't be read.
func requestBanner(ctx context.Context, requests OpenRequests) []layout.Banner {
	count, names, err := requests.Waiting(ctx, maxBannerNames)
	if err != nil || count == 0 {
		return nil
	}
	for i, name := range names {
		names[i] = ui.Clean(name)
	}
	text := ui.Plural(count, "server is requested: ", "servers are requested: ") + strings.Join(names, ", ")
	if more := count - len(names); more > 0 {
		text += " and " + ui.Count(more) + " more"
	}
	return []layout.Banner{{Text: text + ".", LinkLabel: "Decide", LinkURL: paths.CatalogRequests}}
}

// bannerText returns what has to be done with which servers, such as
// "2 servers need to be reconnected: figma, notion."
func bannerText(servers []oauthclient.PendingServer) string {
	verb := "reconnected"
	var names []string
	for _, s := range servers {
		if !s.WasConnected {
			verb = "connected"
		}
		if len(names) < maxBannerNames {
			names = append(names, ui.Clean(s.Alias))
		}
	}
	if len(servers) == 1 {
		return names[0] + " needs to be " + verb + "."
	}
	text := ui.Count(len(servers)) + " servers need to be " + verb + ": " + strings.Join(names, ", ")
	if more := len(servers) - len(names); more > 0 {
		text += " and " + ui.Count(more) + " more"
	}
	return text + "."
}
