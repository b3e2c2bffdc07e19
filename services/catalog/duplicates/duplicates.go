// Package duplicates finds entries of the catalog that are the same server.
package duplicates

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"mcpgateway/models"
	"mcpgateway/services/catalog/sources"
)

// Group is entries with the same address or package.
type Group struct {
	Value   string // the address without its scheme, or the package with its type
	Entries []*models.CatalogEntry
}

// Find returns the groups of at least two entries with an equal address or first
// package, by value. Addresses are compared without scheme, default port and a
// slash at the end, packages without their version.
func Find(entries []*models.CatalogEntry) []Group {
	byValue := map[string][]*models.CatalogEntry{}
	for _, e := range entries {
		for _, value := range values(e) {
			byValue[value] = append(byValue[value], e)
		}
	}
	var groups []Group
	for value, same := range byValue {
		if len(same) > 1 {
			slices.SortFunc(same, func(a, b *models.CatalogEntry) int { return strings.Compare(sources.FullName(a), sources.FullName(b)) })
			groups = append(groups, Group{value, same})
		}
	}
	slices.SortFunc(groups, func(a, b Group) int { return cmp.Compare(a.Value, b.Value) })
	return groups
}

// values returns the values by which an entry is compared.
func values(e *models.CatalogEntry) []string {
	var all []string
	for _, address := range []string{e.RemoteURL, e.AltRemoteURL} {
		if value := normalAddress(address); value != "" && !slices.Contains(all, value) {
			all = append(all, value)
		}
	}
	if packages := e.AllPackages(); len(packages) > 0 && packages[0].Identifier != "" {
		all = append(all, packages[0].Type+" "+normalPackage(packages[0]))
	}
	return all
}

func normalAddress(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return ""
	}
	host := strings.ToLower(u.Hostname())
	if port := u.Port(); port != "" && !(u.Scheme == "https" && port == "443") && !(u.Scheme == "http" && port == "80") {
		host += ":" + port
	}
	host += strings.TrimRight(u.EscapedPath(), "/")
	if u.RawQuery != "" {
		host += "?" + u.RawQuery
	}
	return host
}

// normalPackage returns the identifier of a package without its version, in lower
// case.
func normalPackage(p models.CatalogPackage) string {
	name := strings.ToLower(p.Identifier)
	switch p.Type {
	case "npm":
		if at := strings.LastIndex(name, "@"); at > 0 {
			name = name[:at]
		}
	case "pypi":
		if at := strings.IndexAny(name, "[=<>!~@"); at > 0 {
			name = name[:at]
		}
		name = strings.NewReplacer("_", "-", ".", "-").Replace(name)
	case "oci":
		name, _, _ = strings.Cut(name, "@")
		if at := strings.LastIndex(name, ":"); at > strings.LastIndex(name, "/") {
			name = name[:at]
		}
		name = strings.TrimPrefix(name, "docker.io/")
	}
	return name
}
