package routes_test

import (
	"slices"
	"strings"
	"testing"

	"mcpgateway/models/modelstest"
	"mcpgateway/routes"
	"mcpgateway/routes/routestest"
	"mcpgateway/views/paths"
)

// TestPathsHaveRoutes requires a route for every URL that views/paths returns.
func TestPathsHaveRoutes(t *testing.T) {
	table := routes.Table(routestest.New(t, modelstest.SQLite(t)).Services)
	for _, path := range []string{
		paths.Home, paths.Projects, paths.NewProject, paths.Connections, paths.Catalog, paths.CatalogAdd, paths.CatalogSources, paths.Audit, paths.People,
		paths.Invite, paths.Groups, paths.NewGroup, paths.Group("g"), paths.Settings, paths.TestMail, paths.Alerts, paths.AlertRule("r"), paths.Reset("t"), paths.Import, paths.ImportApply, paths.Export, paths.ExportDownload, paths.Account, paths.Password,
		paths.SignOutEverywhere, paths.Undo, paths.Me, paths.Setup, paths.Login, paths.SingleSignOn, paths.StepUp, paths.Logout, paths.MyApps, paths.MyProjects,
		paths.AuditExport, paths.Destinations, paths.NewDestination, paths.Destination("d"), paths.Authorize, paths.Registry, paths.Templates,
		paths.Project("p"), paths.Servers("p"), paths.NewServer("p"), paths.Server("p", "s"), paths.ServerEdit("p", "s"), paths.ServerFilters("p", "s"),
		paths.Tools("p"), paths.ToolReview("p"), paths.Tool("p", "t"), paths.Keys("p"), paths.Key("p", "k"), paths.Activity("p"), paths.Usage("p"), paths.UsageExport("p"), paths.Doctor("p"), paths.AllUsage, paths.ProjectSettings("p"),
		paths.CodeMode("p"), paths.CodeRun("p"), paths.CodeRuns("p"), paths.CodeTrace("p", "r"), paths.Recipes("p"), paths.NewRecipe("p"), paths.Recipe("p", "r"), paths.RecipeProposal("p", "r"), paths.Connection(""), paths.Connection("s"),
		paths.StartConnection("s"), paths.CatalogEntry("e"), paths.CatalogSource("s") + "/sync", paths.Person("u"), paths.EndSession("s"),
		paths.RegistryEntry("p", "s"), paths.Template("t"), paths.UseTemplate("t"), paths.RevokeGrant("g"),
		paths.MyConnections, paths.MyConnection("s"), paths.StartMyConnection("s"), paths.MyConnection("s") + "/connect", paths.MyConnection("s") + "/disconnect",
	} {
		if !slices.ContainsFunc(table, func(r routes.Row) bool { return serves(r.Path, path) }) {
			t.Errorf("no route for %s", path)
		}
	}
}

// serves reports whether a route with the pattern serves the path. A parameter
// matches one segment, except fixed names of other routes.
func serves(pattern, path string) bool {
	return slices.EqualFunc(strings.Split(pattern, "/"), strings.Split(path, "/"), func(want, got string) bool {
		return want == got || strings.HasPrefix(want, ":") && len(got) == 1
	})
}
