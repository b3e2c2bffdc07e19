package admin

import (
	"context"
	"strings"

	"mcpgateway/models"
	"mcpgateway/services/access/reach"
	"mcpgateway/services/alerts"
	"mcpgateway/services/oauthclient"
	"mcpgateway/services/toolset"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
	"mcpgateway/web/guard"
)

// maxBannerNames is the maximum number of servers that a banner names.
const maxBannerNames = 4

// maxBannerObjects is the maximum number of objects that a banner names for each
// rule of its alerts.
const maxBannerObjects = 2

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

// FiringAlerts are the alerts that fire. Implemented by alerts.Current, which has
// them in memory.
type FiringAlerts interface {
	Firing() []models.Alert
}

// Banners returns the banners above every admin page: the servers that an
// administrator, or a maintainer of their project, has to connect, and for
// administrators the firing alerts and the open requests for servers.
func Banners(directory *toolset.Directory, waiting PendingServers, requests OpenRequests, firing FiringAlerts) func(ctx context.Context, role string) []layout.Banner {
	return func(ctx context.Context, role string) []layout.Banner {
		var banners []layout.Banner
		if role == guard.RoleAdmin {
			banners = append(alertBanner(firing.Firing()), requestBanner(ctx, requests)...)
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

// alertBanner returns the banner of the firing alerts by rule, or none. Connections
// that need authorization have their own banner.
func alertBanner(firing []models.Alert) []layout.Banner {
	objects := map[string][]string{}
	var rules []string // in the order of their newest alerts
	count := 0
	for _, a := range firing {
		if a.Rule == alerts.ConnectionNeeded {
			continue
		}
		if objects[a.Rule] == nil {
			rules = append(rules, a.Rule)
		}
		objects[a.Rule] = append(objects[a.Rule], ui.Clean(a.Object))
		count++
	}
	if count == 0 {
		return nil
	}
	var parts []string
	for _, rule := range rules {
		named := objects[rule][:min(len(objects[rule]), maxBannerObjects)]
		part := alerts.Title(rule) + " (" + strings.Join(named, ", ")
		if more := len(objects[rule]) - len(named); more > 0 {
			part += " and " + ui.Count(more) + " more"
		}
		parts = append(parts, part+")")
	}
	text := ui.Plural(count, "alert: ", "alerts: ") + strings.Join(parts, ", ")
	return []layout.Banner{{Tone: "bad", Text: text + ".", LinkLabel: "Show alerts", LinkURL: paths.Alerts}}
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
