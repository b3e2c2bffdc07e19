package models_test

import (
	"strings"
	"testing"

	"mcpgateway/models"
)

func TestPackageCommands(t *testing.T) {
	t.Parallel()
	digest := "@sha256:" + strings.Repeat("a", 64)
	for _, tc := range []struct {
		kind, identifier, want string
	}{
		{"npm", "mcp", "npx -y mcp"},
		{"npm", "@acme/mcp.server_x", "npx -y @acme/mcp.server_x"},
		{"npm", "@acme/mcp@1.2.3-rc.1+b", "npx -y @acme/mcp@1.2.3-rc.1+b"},
		{"npm", "mcp@latest", "npx -y mcp@latest"},
		{"pypi", "mcp-server.git_x", "uvx mcp-server.git_x"},
		{"pypi", "mcp[cli,ws]==1.0!2", "uvx mcp[cli,ws]==1.0!2"},
		{"pypi", "mcp@latest", "uvx mcp@latest"},
		{"oci", "mcp/git", "docker run --rm -i -e K mcp/git"},
		{"oci", "Ghcr.io:443/acme/a__b/mcp-x:v1_2" + digest, "docker run --rm -i -e K Ghcr.io:443/acme/a__b/mcp-x:v1_2" + digest},
	} {
		if got := strings.Join(models.CatalogPackage{Type: tc.kind, Identifier: tc.identifier}.Command([]string{"K"}), " "); got != tc.want {
			t.Errorf("%s %s: %q, want %q", tc.kind, tc.identifier, got, tc.want)
		}
	}
}

func TestHostilePackagesHaveNoCommand(t *testing.T) {
	t.Parallel()
	for _, kind := range models.PackageTypes() {
		for _, identifier := range []string{
			"", "-", "-c", "--call=id", "--eval=x", "-y", " mcp", "mcp ", "mcp x", "mcp\n", "mcp\u202ex", "mcp;id", "$(id)", "`id`", "a|b", "a&b", "a>b", "a'b", `a"b`, "a\\b",
			".", "..", "./mcp", "../mcp", "/bin/sh", "~/mcp", "git+ssh://h/x", "https://h/x", "mcp@npm:other", "mcp@file:x", "mcp@-x", "@acme", "@acme/", "@-a/b", "@acme/-b",
			"mcp @ https://h/x", "mcp[", "mcp[x", "mcp[;]", "mcp==", "a:b:c", "a@sha256:12", "A/", "a//b", "mcp:-x", "é", strings.Repeat("a", 201),
		} {
			if got := (models.CatalogPackage{Type: kind, Identifier: identifier}).Command(nil); got != nil {
				t.Errorf("%s %q: %q", kind, identifier, got)
			}
		}
	}
	for kind, identifier := range map[string]string{"npm": "file:mcp", "pypi": "file:mcp"} {
		if got := (models.CatalogPackage{Type: kind, Identifier: identifier}).Command(nil); got != nil {
			t.Errorf("%s %q: %q", kind, identifier, got)
		}
	}
	for kind, identifier := range map[string]string{"npm": "acme/mcp", "pypi": "acme/mcp", "oci": "@acme/mcp", "cargo": "mcp", "": "mcp"} {
		if got := (models.CatalogPackage{Type: kind, Identifier: identifier}).Command(nil); got != nil {
			t.Errorf("%s %q: %q", kind, identifier, got)
		}
	}
	p := models.CatalogPackage{Type: "oci", Identifier: "mcp"}
	for _, name := range []string{"", "A=B", "-v", "A B", "A\nB", "1A", "A-B", strings.Repeat("A", 129)} {
		if got := p.Command([]string{name}); got != nil {
			t.Errorf("variable %q: %q", name, got)
		}
	}
	for _, arg := range []string{"", "a b", "$(id)", "a;b", "'", strings.Repeat("a", 201)} {
		p := models.CatalogPackage{Type: "npm", Identifier: "mcp", Args: []string{arg}}
		if got := p.Command(nil); got != nil {
			t.Errorf("argument %q: %q", arg, got)
		}
	}
	if len(models.CatalogPackage{Type: "pypi", Identifier: strings.Repeat("a", 200)}.Command([]string{strings.Repeat("A", 128)})) != 2 {
		t.Error("the longest identifier and variable are refused")
	}
}

func TestNeededVariables(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	e := models.CatalogEntry{SecretEnv: models.StringList{"TOKEN", "OPTIONAL_SECRET", "UNKNOWN_SECRET"}, Variables: models.CatalogVariables{
		{Name: "URL", Required: &yes}, {Name: "TOKEN", Required: &yes, Secret: true}, {Name: "OPTIONAL_SECRET", Required: &no, Secret: true},
		{Name: "UNKNOWN_SECRET", Secret: true}, {Name: "UNKNOWN"}, {Name: "OPTIONAL", Required: &no},
	}}
	if got := strings.Join(e.NeededVariables(), " "); got != "TOKEN UNKNOWN_SECRET URL" {
		t.Errorf("needed variables = %s", got)
	}
}
