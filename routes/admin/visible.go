package admin

import (
	"slices"

	"mcpgateway/services/access/reach"
	"mcpgateway/services/oauthclient"
	"mcpgateway/services/toolset"
)

// PendingOf returns the servers that a user must authorize, in the projects that
// a reach includes.
func PendingOf(mine reach.Reach, directory *toolset.Directory, waiting PendingServers) []oauthclient.PendingServer {
	servers := waiting.Servers()
	if mine.SeesAll() {
		return servers
	}
	if !mine.Maintains() {
		return nil
	}
	return slices.DeleteFunc(servers, func(s oauthclient.PendingServer) bool {
		return !slices.ContainsFunc(mine.Visible(directory.All()), func(p *toolset.Snapshot) bool {
			_, err := ServerOf(p, s.ID)
			return err == nil
		})
	})
}
