// Package paths defines the URLs of all pages and forms, for handlers and views.
// See routes/routes.go for their handlers.
package paths

import "net/url"

// Admin pages and forms outside of projects.
const (
	Home               = "/admin" // the projects
	Projects           = "/admin/projects"
	NewProject         = "/admin/projects/new"
	Connections        = "/admin/connections"
	Catalog            = "/admin/catalog"
	CatalogAdd         = "/admin/catalog/add"
	CatalogSources     = "/admin/catalog/sources"
	CatalogViews       = "/admin/catalog/views"
	CatalogKeys        = "/admin/catalog/keys"
	CatalogRequests    = "/admin/catalog/requests"
	Audit              = "/admin/audit"
	AuditExport        = "/admin/audit/export"
	Alerts             = "/admin/alerts"
	AllUsage           = "/admin/usage"
	People             = "/admin/people"
	Invite             = "/admin/people/invite"
	Groups             = "/admin/groups"
	NewGroup           = "/admin/groups/new"
	Settings           = "/admin/settings"
	Destinations       = "/admin/destinations"
	NewDestination     = "/admin/destinations/new"
	TestMail           = "/admin/settings/test-mail"
	Import             = "/admin/import"
	ImportApply        = "/admin/import/apply"
	Export             = "/admin/export"
	ExportDownload     = "/admin/export/download"
	Undo               = "/admin/undo"
	Live               = "/admin/live"
	Palette            = "/admin/palette"
	CatalogRows        = "/admin/catalog/rows"
	CatalogRowsApply   = "/admin/catalog/rows/apply"
	CatalogDuplicates  = "/admin/catalog/duplicates"
	CatalogImport      = "/admin/catalog/import"
	CatalogImportApply = "/admin/catalog/import/apply"
)

// WithNext returns a path with the page to show afterwards as its parameter next,
// or the path itself without such a page.
func WithNext(path, next string) string {
	if next == "" {
		return path
	}
	return path + "?next=" + url.QueryEscape(next)
}

// Pages and forms of users and visitors.
const (
	Me         = "/me"
	MyProjects = "/me/projects"
	MyKeys     = "/me/keys"
	MyApps     = "/me/apps"
	MyRequests = "/me/requests"

	MyConnections = "/me/connections"

	Account  = "/me/account"
	Password = Account + "/password"

	Security      = "/me/security"
	NewApp        = Security + "/app"
	AddApp        = Security + "/apps"
	NewPasskey    = Security + "/passkey"
	AddPasskey    = Security + "/passkeys"
	RecoveryCodes = Security + "/codes"

	SignOutEverywhere = Account + "/sign-out-everywhere"

	Setup             = "/setup"
	Login             = "/login"
	SingleSignOn      = "/login/sso"
	StepUp            = "/login/again"
	StepUpPasskey     = StepUp + "/passkey"
	LoginPasskey      = "/login/passkey"
	SecondStep        = "/login/second"
	SecondStepPasskey = SecondStep + "/passkey"
	Logout            = "/logout"
	Authorize         = "/oauth/authorize"
	Registry          = "/registry"
	Templates         = "/templates"
	Docs              = "/docs"
	ErrorCodes        = Docs + "/errors"
	TypeCheckDocs     = Docs + "/code-mode#type-check"
)

// below returns the URL of id under base.
func below(base, id string) string { return base + "/" + url.PathEscape(id) }

// ErrorCode returns the documentation of an error code.
func ErrorCode(code string) string { return ErrorCodes + "#" + code }

// Project returns the first page of a project.
func Project(slug string) string { return below(Projects, slug) }

// ExportProject returns the file of a project.
func ExportProject(slug string) string { return ExportDownload + "?project=" + url.QueryEscape(slug) }

// Connect returns how clients connect to a project.
func Connect(slug string) string { return Project(slug) + "/connect" }

// Access returns who can sign in to a project.
func Access(slug string) string { return Project(slug) + "/access" }

// PersonalKeys returns the form of the settings of personal keys.
func PersonalKeys(slug string) string { return Access(slug) + "/personal-keys" }

// Grants returns the form that grants access to a project.
func Grants(slug string) string { return Access(slug) + "/grants" }

// Grant returns the path of a grant. Its forms are below it.
func Grant(slug, id string) string { return below(Grants(slug), id) }

// SeeAs returns the project's tools as the person or group of a grant sees them.
func SeeAs(slug, id string) string { return Grant(slug, id) }

// SeeAsKey returns the project's tools as the client of a key sees them.
func SeeAsKey(slug, id string) string { return Key(slug, id) + "/see-as" }

// Servers returns the servers of a project.
func Servers(slug string) string { return Project(slug) + "/servers" }

// NewServer returns the page on which servers are added to a project.
func NewServer(slug string) string { return Servers(slug) + "/new" }

// CheckServers tests the connections of servers that are being added.
func CheckServers(slug string) string { return NewServer(slug) + "/check" }

// Server returns the page of a server. Its forms are below it.
func Server(slug, id string) string { return below(Servers(slug), id) }

// ServerEdit returns the form of a server's address and credentials.
func ServerEdit(slug, id string) string { return Server(slug, id) + "/edit" }

// ServerFilters returns the form of the tools that a server shows.
func ServerFilters(slug, id string) string { return Server(slug, id) + "/filters" }

// Tools returns the tools of a project.
func Tools(slug string) string { return Project(slug) + "/tools" }

// ToolReview returns the tools of a project that wait for approval.
func ToolReview(slug string) string { return Tools(slug) + "/review" }

// ToolSearch returns the test of a project's tool search.
func ToolSearch(slug string) string { return Tools(slug) + "/search" }

// Tool returns the page of a tool, with its Playground.
func Tool(slug, name string) string { return below(Tools(slug), name) }

// ToolApp returns the preview of a tool's app.
func ToolApp(slug, name string) string { return Tool(slug, name) + "/app" }

// ToolAppFrame returns the document of a tool's app, for a frame.
func ToolAppFrame(slug, name string) string { return ToolApp(slug, name) + "/frame" }

// Toolsets returns the toolsets of a project.
func Toolsets(slug string) string { return Project(slug) + "/toolsets" }

// NewToolset returns the form of a new toolset.
func NewToolset(slug string) string { return Toolsets(slug) + "/new" }

// Toolset returns the page of a toolset. Its forms are below it.
func Toolset(slug, id string) string { return below(Toolsets(slug), id) }

// Keys returns the keys of a project.
func Keys(slug string) string { return Project(slug) + "/keys" }

// Connectors returns the connectors of a project.
func Connectors(slug string) string { return Project(slug) + "/connectors" }

// Connector returns the page of a connector.
func Connector(slug, id string) string { return below(Connectors(slug), id) }

// NewKey returns the form of a new key.
func NewKey(slug string) string { return Keys(slug) + "/new" }

// NewKeyOf returns the form of a new key with a toolset chosen.
func NewKeyOf(slug, toolset string) string {
	return NewKey(slug) + "?toolset=" + url.QueryEscape(toolset)
}

// Key returns the page of a key.
func Key(slug, id string) string { return below(Keys(slug), id) }

// Doctor returns the form that tests how clients reach a project.
func Doctor(slug string) string { return Connect(slug) + "/doctor" }

// Usage returns the usage of a project.
func Usage(slug string) string { return Project(slug) + "/usage" }

// UsageExport returns the usage of a project as a file.
func UsageExport(slug string) string { return Usage(slug) + "/export" }

// Activity returns the calls of a project.
func Activity(slug string) string { return Project(slug) + "/activity" }

// ProjectSettings returns the settings of a project. Its forms are below it.
func ProjectSettings(slug string) string { return Project(slug) + "/settings" }

// CodeMode returns the workbench of a project, which runs code.
func CodeMode(slug string) string { return Project(slug) + "/code-mode" }

// CodeSettings returns the settings of Code Mode.
func CodeSettings(slug string) string { return CodeMode(slug) + "/settings" }

// CodeRun returns where the workbench posts code to run.
func CodeRun(slug string) string { return CodeMode(slug) + "/run" }

// CodeRuns returns the last runs of code.
func CodeRuns(slug string) string { return CodeMode(slug) + "/runs" }

// CodeTrace returns the page of a run of code.
func CodeTrace(slug, id string) string { return below(CodeRuns(slug), id) }

// Recipes returns the recipes of a project.
func Recipes(slug string) string { return CodeMode(slug) + "/recipes" }

// NewRecipe returns the form of a new recipe. ?run= fills in the code of a run.
func NewRecipe(slug string) string { return Recipes(slug) + "/new" }

// Recipe returns the page of a recipe. Its forms are below it.
func Recipe(slug, id string) string { return below(Recipes(slug), id) }

// RecipeProposal returns the page of a proposed recipe. Its forms are below it.
func RecipeProposal(slug, id string) string { return below(CodeMode(slug)+"/proposals", id) }

// Connection returns the page of a server's OAuth connection, or the list of
// all connections for no server.
func Connection(serverID string) string {
	if serverID == "" {
		return Connections
	}
	return below(Connections, serverID)
}

// StartConnection returns the link on which an administrator begins to
// authorize the gateway at the authorization server of an upstream server.
func StartConnection(serverID string) string { return below(Connections, serverID) + "/start" }

// CatalogEntry returns the page on which an entry of the catalog is edited.
func CatalogEntry(id string) string { return below(Catalog, id) }

// CatalogView returns a view of the catalog. Its forms are below it.
func CatalogView(name string) string { return below(CatalogViews, name) }

// CatalogKey returns a key of gated views. Its forms are below it.
func CatalogKey(id string) string { return below(CatalogKeys, id) }

// Destination returns the page of a destination of events.
func Destination(id string) string { return below(Destinations, id) }

// CatalogRequest returns a request for a server. Its forms are below it.
func CatalogRequest(id string) string { return below(CatalogRequests, id) }

// WithdrawRequest returns the form that withdraws a request of a user.
func WithdrawRequest(id string) string { return below(MyRequests, id) + "/withdraw" }

// CheckEntry returns the form that checks the server of a catalog entry.
func CheckEntry(id string) string { return CatalogEntry(id) + "/check" }

// Icon returns the image with a hash, an icon of a catalog entry.
func Icon(hash string) string { return "/icons/" + hash + ".png" }

// CatalogSource returns a source of the catalog. Its forms are below it.
func CatalogSource(id string) string { return below(CatalogSources, id) }

// Person returns the page of a user.
func Person(id string) string { return below(People, id) }

// Group returns the page of a group of users. Its forms are below it.
func Group(id string) string { return below(Groups, id) }

// EndSession returns the form that ends one of the user's own sessions.
func EndSession(id string) string { return below(Account+"/sessions", id) + "/end" }

// Factor returns a second factor of the user. Its forms are below it.
func Factor(id string) string { return below(Security+"/factors", id) }

// RegistryEntry returns the public page of a server of the catalog.
func RegistryEntry(publisher, server string) string { return below(below(Registry, publisher), server) }

// Template returns the public page of a template.
func Template(slug string) string { return below(Templates, slug) }

// UseTemplate returns the form that makes a project of a template.
func UseTemplate(slug string) string { return Home + Template(slug) + "/use" }

// RevokeGrant returns the form that takes back what a user granted a client.
func RevokeGrant(id string) string { return below(MyApps, id) + "/revoke" }

// MyProject returns how the clients of a user connect to a project.
func MyProject(slug string) string { return below(MyProjects, slug) }

// MyNewKey returns the form of a new key of the user in a project.
func MyNewKey(slug string) string { return MyProject(slug) + "/keys" }

// MyKey returns the page of a key of the user. Its forms are below it.
func MyKey(id string) string { return below(MyKeys, id) }

// MyConnection returns the page on which a user connects their own account to a
// server. Its forms are below it.
func MyConnection(serverID string) string { return below(MyConnections, serverID) }

// StartMyConnection returns the page from which a user leaves for the
// authorization server.
func StartMyConnection(serverID string) string { return MyConnection(serverID) + "/start" }

// Join returns the invite link with a token.
func Join(token string) string { return below("/invite", token) }

// Reset returns the link with a token that resets a password.
func Reset(token string) string { return below("/reset", token) }

// AlertRule returns the form of a rule of alerts.
func AlertRule(id string) string { return below(Alerts+"/rules", id) }
