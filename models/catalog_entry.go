package models

import "time"

// CatalogStatus says whether a catalog row is still offered.
type CatalogStatus string

// The statuses of catalog rows (official registry API, status). A deleted row
// stays as a mark that it was there.
const (
	CatalogActive     CatalogStatus = "active"
	CatalogDeprecated CatalogStatus = "deprecated"
	CatalogDeleted    CatalogStatus = "deleted"
)

// CatalogEntry is one MCP server of the public registry. An absent text is
// empty. What an admin decides stays when its source is read again.
type CatalogEntry struct {
	ID       string `gorm:"primaryKey"`
	SourceID string
	Version  string

	PublisherName  string // with ServerName the unique name
	PublisherTitle string
	ServerName     string
	ServerTitle    string
	ServerType     string // http (Streamable HTTP), sse, stdio
	Tags           StringList

	Verified         bool
	VerifiedEvidence string // on what ground
	VerifiedBy       string // "admin", or empty for the source's word
	Featured         bool
	FeaturedBy       string // "admin", or empty for the source's word

	IconURL     string
	RepoURL     string
	DocsURL     string
	WebsiteURL  string
	Description string

	RemoteURL           string // set exactly for http and sse
	AltRemoteURL        string // older SSE endpoint of the same server
	AuthType            string // none, bearer, header, oauth, unknown
	AuthHeader          string // which header carries the key
	DynamicRegistration *bool  // OAuth; nil is not known
	PackageType         string // npm, pypi, oci
	PackageIdentifier   string
	SecretEnv           StringList // names of secrets, never values
	ToolNames           StringList // empty is not known

	Status      CatalogStatus
	Hidden      bool   // by an admin
	Locked      bool   // edited by an admin: imports leave the row
	ContentHash string // of what the source said; empty takes the source's word anew
	CreatedAt   time.Time
	UpdatedAt   time.Time `gorm:"autoUpdateTime:false"` // of the last change of any kind
	Document    string    // the server object of the official registry as it came, or empty
}
