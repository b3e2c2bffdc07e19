package toolset

import (
	"bytes"
	"slices"

	"mcpgateway/models"
	"mcpgateway/services/toolset/addresses"
)

// bookOf returns the addresses of a project with servers in the order of their
// aliases.
func bookOf(claims []models.AddressClaim, servers []*Server) *addresses.Book {
	return addresses.New(claims, resourceServers(servers))
}

// resourceServers returns the servers of a project, and whether each has
// resources.
func resourceServers(servers []*Server) []addresses.Server {
	all := make([]addresses.Server, len(servers))
	for i, s := range servers {
		all[i] = addresses.Server{Alias: s.Config.Alias, Resources: capabilitiesOf(s).Resources}
	}
	return all
}

// sameClaims reports whether two lists in the same order have equal claims.
func sameClaims(a, b []models.AddressClaim) bool {
	return slices.EqualFunc(a, b, func(x, y models.AddressClaim) bool {
		return x.Position == y.Position && x.Alias == y.Alias && x.Kind == y.Kind && bytes.Equal(x.TextHash, y.TextHash)
	})
}
