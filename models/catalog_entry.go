package models

import "time"

// CatalogStatus is the status of a catalog row in its source.
type CatalogStatus string

// The statuses of catalog rows (official registry API, status). Deleted rows
// are kept.
const (
	CatalogActive     CatalogStatus = "active"
	CatalogDeprecated CatalogStatus = "deprecated"
	CatalogDeleted    CatalogStatus = "deleted"
)

// CatalogEntry is an MCP server of the public registry. Absent texts are empty.
// Changes by administrators survive imports.
type CatalogEntry struct {
	ID       string `gorm:"primaryKey"`
	SourceID string
	Version  string

	PublisherName  string // unique together with ServerName
	PublisherTitle string
	ServerName     string
	ServerTitle    string
	ServerType     string // http (Streamable HTTP), sse, stdio
	Tags           StringList

	Verified         bool
	VerifiedEvidence string // evidence of the verification
	VerifiedBy       string // "admin", or empty if set by the source
	Featured         bool
	FeaturedBy       string // "admin", or empty if set by the source
	FeaturedRank     int64  // order of featured entries on pages, from 1; 0 means none

	IconURL     string
	RepoURL     string
	DocsURL     string
	WebsiteURL  string
	Description string

	RemoteURL           string // set only for http and sse
	AltRemoteURL        string // older SSE endpoint of the same server
	AuthType            string // none, bearer, header, oauth, unknown
	AuthHeader          string // name of the header for the key
	DynamicRegistration *bool  // OAuth; nil if unknown
	PackageType         string // npm, pypi, oci; of the first package
	PackageIdentifier   string
	Packages            CatalogPackages  // best first; empty if the source names one at most
	Variables           CatalogVariables // of its program
	SecretEnv           StringList       // names of secrets, never values
	PackageSource       string           // what proves the first package: repository, registry, list or ""
	License             string           // SPDX identifier
	LastReleaseAt       *time.Time       // nil if unknown
	ToolNames           StringList       // empty if unknown
	ReadTools           StringList       // of ToolNames, those that the server declares to only read
	WriteTools          StringList       // of ToolNames, those that the server declares to write

	Status      CatalogStatus
	Hidden      bool   // by an administrator
	Locked      bool   // edited by an administrator; imports skip the row
	ContentHash string // of the source's row; empty forces the next import to update the row
	CreatedAt   time.Time
	UpdatedAt   time.Time `gorm:"autoUpdateTime:false"` // of the last change of any kind
	Document    string    // raw server object of the official registry, or empty
}

// CatalogSourceGateway is the source of the rows of published projects. They are
// computed, not stored.
const CatalogSourceGateway = "gateway"

// IsOwn reports whether the row is an endpoint of this gateway.
func (e *CatalogEntry) IsOwn() bool { return e.SourceID == CatalogSourceGateway }
