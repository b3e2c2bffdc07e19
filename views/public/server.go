package public

import (
	"slices"
	"strings"

	"mcpgateway/models"
	"mcpgateway/views/install"
	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
)

// CatalogEntry is a catalog entry with methods for the pages.
type CatalogEntry struct {
	*models.CatalogEntry
	Icon  string               // path of its icon; empty for none
	Check *models.CatalogCheck // its last check; nil for none
}

// Servers wraps catalog entries for the pages.
func Servers(entries []*models.CatalogEntry) []CatalogEntry {
	list := make([]CatalogEntry, len(entries))
	for i, e := range entries {
		list[i] = CatalogEntry{CatalogEntry: e}
	}
	return list
}

// Path returns the path of the server's page.
func (s CatalogEntry) Path() string {
	return paths.RegistryEntry(s.PublisherName, s.ServerName)
}

// Title returns the display name of the server.
func (s CatalogEntry) Title() string {
	if title := strings.TrimSpace(ui.Clean(s.ServerTitle)); title != "" {
		return title
	}
	return s.ServerName
}

// Publisher returns the display name of the publisher.
func (s CatalogEntry) Publisher() string {
	if title := strings.TrimSpace(ui.Clean(s.PublisherTitle)); title != "" {
		return title
	}
	return s.PublisherName
}

// Local reports whether the server runs on the user's machine, where the gateway
// cannot reach it.
func (s CatalogEntry) Local() bool { return s.ServerType == "stdio" }

// transportSentence returns the full label of the transport.
func (s CatalogEntry) transportSentence() string {
	switch s.ServerType {
	case "http":
		return "Streamable HTTP"
	case "sse":
		return "HTTP+SSE (older)"
	}
	return "stdio: runs as a program on your machine"
}

// noKey is the label of servers that need no authentication.
const noKey = "No key"

// authIcon returns the symbol of a label of auth.
func authIcon(label string) string {
	switch label {
	case noKey:
		return "lock-open"
	case "API key":
		return "key-round"
	}
	return "shield-check"
}

// Topic returns a tag as a label, such as "Developer tools".
func Topic(tag string) string {
	switch tag {
	case "ai", "api", "aws", "cms", "crm", "rag", "sql", "ui":
		return strings.ToUpper(tag)
	}
	return Capital(strings.ReplaceAll(tag, "-", " "))
}

// auth returns the short label of the authentication, or "" if it is unknown or
// does not apply.
func (s CatalogEntry) auth() string {
	switch {
	case s.Local() && len(s.SecretEnv) > 0, s.AuthType == "bearer", s.AuthType == "header":
		return "API key"
	case s.AuthType == "oauth":
		return "Sign-in"
	case s.AuthType == "none" && !s.Local():
		return noKey
	}
	return ""
}

// authSentence returns the full label of the authentication.
func (s CatalogEntry) authSentence() string {
	switch {
	case s.AuthType == "oauth" && s.DynamicRegistration != nil && *s.DynamicRegistration:
		return "OAuth; clients register automatically"
	case s.AuthType == "oauth" && s.DynamicRegistration != nil:
		return "OAuth; the provider needs an app of your own" // language:ignore
	case s.AuthType == "oauth":
		return "OAuth"
	case s.AuthType == "bearer":
		return "An API key, sent as a bearer token"
	case s.AuthType == "header":
		return "An API key, sent in the header " + ui.Clean(s.AuthHeader)
	case s.Local() && len(s.SecretEnv) > 0:
		return "Secrets in environment variables"
	case s.AuthType == "none":
		return "None"
	}
	return "Unknown"
}

// verifiedDomain returns the domain that the verification is about, or the
// publisher.
func (s CatalogEntry) verifiedDomain() string {
	evidence := ui.Clean(s.VerifiedEvidence)
	if at := strings.LastIndex(evidence, " domain "); at >= 0 && strings.HasPrefix(evidence, domainEvidence) {
		return evidence[at+len(" domain "):]
	}
	return s.Publisher()
}

// domainEvidence begins the evidence of servers at the publisher's own domain.
const domainEvidence = "remote host is on the "

// evidence returns how the publisher was verified.
func (s CatalogEntry) evidence() string {
	if strings.HasPrefix(s.VerifiedEvidence, domainEvidence) {
		return "Its domain serves the endpoint"
	}
	return ui.Clean(s.VerifiedEvidence)
}

// nextStep describes what to set up after the server is added.
func (s CatalogEntry) nextStep() string {
	switch s.AuthType {
	case "oauth":
		return "You'll sign in next."
	case "bearer":
		return "You'll add the token next."
	case "header":
		return "You'll add the header " + ui.Clean(s.AuthHeader) + " next."
	case "unknown":
		return "Its sign-in isn't known. You'll test the connection next."
	}
	return ""
}

// verifiedBy returns who verified the server.
func (s CatalogEntry) verifiedBy() string {
	switch {
	case s.IsOwn():
		return "This gateway"
	case s.VerifiedBy == "admin":
		return "An administrator of this gateway"
	}
	return "Catalog publisher"
}

// remote returns the server for client snippets.
func (s CatalogEntry) remote() install.Remote {
	r := install.Remote{Name: s.ServerName, URL: s.RemoteURL, SSE: s.ServerType == "sse", OAuth: s.AuthType == "oauth"}
	switch s.AuthType {
	case "bearer":
		r.Key = "Bearer API_KEY"
	case "header":
		r.Key, r.In = "API_KEY", ui.Clean(s.AuthHeader)
	}
	return r
}

func (s CatalogEntry) local() install.Local {
	return install.Local{Name: s.ServerName, Packages: s.AllPackages(), Variables: s.NeededVariables()}
}

// runFile is the name of the file of a runner in examples.
const runFile = "servers.json"

// runTabs returns how to run the server on a computer, best first.
func (s CatalogEntry) runTabs() []ui.SnippetTab {
	var tabs []ui.SnippetTab
	for _, r := range s.local().Runs() {
		tabs = append(tabs, ui.SnippetTab{Label: r.Label, Place: runFile, Text: r.File, Note: strings.TrimSpace(install.NeedsNote(r.Needs) + " " + s.variablesNote()), Also: []ui.SnippetFile{
			{Name: "Start the gateway with it", Text: "gateway serve --local " + runFile},
			{Name: "Command line", Text: r.Command},
		}})
	}
	return tabs
}

// variablesNote names the variables that the server needs, or may use.
func (s CatalogEntry) variablesNote() string {
	needed := s.NeededVariables()
	var optional []string
	for _, v := range s.Variables {
		if !slices.Contains(needed, v.Name) && models.IsVariable(v.Name) {
			optional = append(optional, v.Name)
		}
	}
	note := ""
	if len(needed) > 0 {
		note = "Set " + joined(needed) + " in the environment of the runner. "
	}
	if n := len(optional); n > 0 {
		const most = 6
		note += "Optional: " + strings.Join(optional[:min(n, most)], ", ")
		if n > most {
			note += " and " + ui.Count(n-most) + " more"
		}
		note += "."
	}
	return strings.TrimSpace(note)
}

// tokenName returns the environment variable that holds the key.
func (s CatalogEntry) tokenName() string {
	if len(s.SecretEnv) > 0 {
		return s.SecretEnv[0]
	}
	return install.EnvironmentName(s.ServerName)
}

// links returns external pages about the server.
func (s CatalogEntry) links() []ui.Fact {
	var links []ui.Fact
	for _, l := range []ui.Fact{{Label: "Source", URL: s.RepoURL}, {Label: "Website", URL: s.WebsiteURL}, {Label: "Docs", URL: s.DocsURL}} {
		if strings.HasPrefix(l.URL, "https://") || strings.HasPrefix(l.URL, "http://") {
			l.Value = ui.Clean(strings.TrimPrefix(strings.TrimPrefix(l.URL, "https://"), "http://"))
			links = append(links, l)
		}
	}
	return links
}
