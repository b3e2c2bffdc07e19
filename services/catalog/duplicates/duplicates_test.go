package duplicates_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcpgateway/models"
	"mcpgateway/services/catalog/duplicates"
)

func TestDuplicates(t *testing.T) {
	remote := func(addresses ...string) *models.CatalogEntry {
		e := &models.CatalogEntry{RemoteURL: addresses[0]}
		if len(addresses) > 1 {
			e.AltRemoteURL = addresses[1]
		}
		return e
	}
	program := func(kind, identifier string) *models.CatalogEntry {
		return &models.CatalogEntry{PackageType: kind, PackageIdentifier: identifier}
	}
	rows := []*models.CatalogEntry{
		0: remote("https://A.example.com/mcp"), 1: remote("https://a.example.com:443/mcp/"), 2: remote("http://a.example.com/mcp"),
		3: remote("https://a.example.com:8443/mcp"), 4: remote("https://a.example.com/MCP"), 5: remote("https://a.example.com/mcp?tenant=1"),
		6: remote("https://b.example.com/mcp", "https://a.example.com/mcp"), 7: remote("https://c.example.com/x", "https://c.example.com/x/"),
		8: program("npm", "@acme/mcp"), 9: program("npm", "@acme/mcp@1.2.3"), 10: program("pypi", "acme_mcp==1.0"), 11: program("pypi", "Acme-MCP[cli]"),
		12: program("oci", "ghcr.io/acme/mcp:1"), 13: program("oci", "ghcr.io/acme/mcp@sha256:00"), 14: program("oci", "localhost:5000/mcp"), 15: program("npm", "mcp"),
		16: program("pypi", "mcp"), 17: program("", ""), 18: program("", ""), 19: remote("not a URL"), 20: remote("not a URL"),
	}
	for i, e := range rows {
		e.PublisherName, e.ServerName = "p", fmt.Sprintf("%02d", i)
	}
	var got []string
	for _, g := range duplicates.Find(rows) {
		names := []string{g.Value + ":"}
		for _, e := range g.Entries {
			names = append(names, e.ServerName)
		}
		got = append(got, strings.Join(names, " "))
	}
	want := []string{"a.example.com/mcp: 00 01 02 06", "npm @acme/mcp: 08 09", "oci ghcr.io/acme/mcp: 12 13", "pypi acme-mcp: 10 11"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
}
