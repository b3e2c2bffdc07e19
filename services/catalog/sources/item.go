package sources

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"mcpgateway/models"
)

// item is a registry row of the catalog's own file format.
type item struct {
	ID                       string                   `json:"id"`
	Slug                     *string                  `json:"slug,omitempty"` // set only in templates
	Version                  string                   `json:"version,omitempty"`
	PublisherName            string                   `json:"publisherName"`
	PublisherTitle           string                   `json:"publisherTitle"`
	ServerName               string                   `json:"serverName"`
	ServerTitle              string                   `json:"serverTitle"`
	ServerType               string                   `json:"serverType"`
	Tags                     []string                 `json:"tags"`
	Verified                 bool                     `json:"verified"`
	VerifiedEvidence         string                   `json:"verifiedEvidence"`
	Featured                 bool                     `json:"featured"`
	IconURL                  string                   `json:"iconUrl"`
	RepoURL                  string                   `json:"repoUrl"`
	DocsURL                  string                   `json:"docsUrl"`
	WebsiteURL               string                   `json:"websiteUrl"`
	Description              string                   `json:"description"`
	RemoteURL                string                   `json:"remoteUrl"`
	AltRemoteURL             string                   `json:"altRemoteUrl"`
	AuthType                 string                   `json:"authType"`
	AuthHeader               string                   `json:"authHeader"`
	OAuthDynamicRegistration *bool                    `json:"oauthDynamicRegistration"`
	PackageType              string                   `json:"packageType"`
	PackageIdentifier        string                   `json:"packageIdentifier"`
	Packages                 []models.CatalogPackage  `json:"packages,omitempty"`
	Env                      []models.CatalogVariable `json:"env,omitempty"`
	SecretEnv                []string                 `json:"secretEnv"`
	ToolNames                []string                 `json:"toolNames"`
	Status                   string                   `json:"status,omitempty"`
	FeaturedRank             int64                    `json:"featuredRank,omitempty"`
	PackageSource            string                   `json:"packageSource,omitempty"`
	License                  string                   `json:"license,omitempty"`
	LastReleaseAt            string                   `json:"lastReleaseAt,omitempty"`
	Tools                    []toolItem               `json:"tools,omitempty"`
}

// toolItem is a tool of a server. ReadOnly is nil if the server doesn't declare
// whether it only reads.
type toolItem struct {
	Name     string `json:"name"`
	ReadOnly *bool  `json:"readOnly"`
}

// The namespaces of ids derived from names.
const (
	entryIDs    = "catalog entry "
	templateIDs = "catalog template "
)

// defaultVersion is the version of an entry whose source has none (contract,
// "Catalog query grammar").
const defaultVersion = "1.0.0"

// entry returns the row of an item, cleaned and within the limits, or an error
// with the reason why it is invalid. document is its official server object, or
// empty.
func (i *item) entry(document string) (models.CatalogEntry, error) {
	if err := i.checkMembers(); err != nil {
		return models.CatalogEntry{}, err
	}
	row := models.CatalogEntry{
		ID: i.ID, Version: Clean(i.Version, maxVersion),
		PublisherName: i.PublisherName, PublisherTitle: Clean(i.PublisherTitle, MaxTitle),
		ServerName: i.ServerName, ServerTitle: Clean(i.ServerTitle, MaxTitle), ServerType: i.ServerType,
		Tags: Tags(i.Tags), Verified: i.Verified, VerifiedEvidence: Clean(i.VerifiedEvidence, MaxEvidence), Featured: i.Featured,
		IconURL: CleanIcon(i.IconURL), RepoURL: CleanLink(i.RepoURL), DocsURL: CleanLink(i.DocsURL), WebsiteURL: CleanLink(i.WebsiteURL),
		Description: Clean(i.Description, MaxDescription),
		AuthType:    i.AuthType, AuthHeader: Clean(i.AuthHeader, maxShort), DynamicRegistration: i.OAuthDynamicRegistration,
		PackageType: i.PackageType, PackageIdentifier: Clean(i.PackageIdentifier, maxShort),
		SecretEnv: cleanList(i.SecretEnv, maxSecrets, maxSecret), ToolNames: cleanList(i.ToolNames, maxTools, maxTool),
		Status: models.CatalogStatus(i.Status), Document: document,
	}
	i.runs(&row)
	if err := i.facts(&row); err != nil {
		return row, err
	}
	row.Version = cmp.Or(row.Version, defaultVersion)
	row.PublisherTitle, row.ServerTitle = cmp.Or(row.PublisherTitle, row.PublisherName), cmp.Or(row.ServerTitle, row.ServerName)
	row.Status = models.CatalogStatus(cmp.Or(string(row.Status), string(models.CatalogActive)))
	row.AuthType = cmp.Or(row.AuthType, "unknown")
	if !row.Verified {
		row.VerifiedEvidence = ""
	}
	if row.ServerType != "stdio" {
		row.RemoteURL, row.AltRemoteURL = cleanEndpoint(i.RemoteURL), cleanEndpoint(i.AltRemoteURL)
	}
	if err := checkEntry(&row); err != nil {
		return row, err
	}
	if !validID(row.ID) {
		row.ID = NewID(entryIDs, FullName(&row))
	}
	hash, err := hashOf(i.hashed(&row), document)
	row.ContentHash = hash
	return row, err
}

// runs sets how a computer runs the server. An identifier that does not fit its
// type stays, and the pages show no command for it. A single package with nothing
// but its identifier is only the first one, as in older formats.
func (i *item) runs(row *models.CatalogEntry) {
	for _, p := range i.Packages {
		args := make([]string, len(p.Args)) // not cleanList: a word may be repeated
		for n, word := range p.Args {
			args[n] = Clean(word, maxShort)
		}
		row.Packages = append(row.Packages, models.CatalogPackage{Type: p.Type, Identifier: Clean(p.Identifier, maxShort), Args: args, Needs: Clean(p.Needs, maxShort)})
	}
	if len(row.Packages) > 0 && row.PackageIdentifier == "" {
		row.PackageType, row.PackageIdentifier = row.Packages[0].Type, row.Packages[0].Identifier
	}
	if len(row.Packages) == 1 && len(row.Packages[0].Args) == 0 && row.Packages[0].Needs == "" && row.PackageIdentifier == row.Packages[0].Identifier {
		row.Packages = nil
	}
	for _, v := range i.Env {
		v.Name, v.Description = Clean(v.Name, maxSecret), Clean(v.Description, maxShort)
		row.Variables = append(row.Variables, v)
	}
}

// facts sets what the source proves about a server. Only featured entries have a
// rank.
func (i *item) facts(row *models.CatalogEntry) error {
	row.License, row.PackageSource = Clean(i.License, maxShort), i.PackageSource
	if row.Featured {
		row.FeaturedRank = i.FeaturedRank
	}
	if i.FeaturedRank < 0 || i.FeaturedRank > MaxRows {
		return fmt.Errorf("featuredRank must be from 0 to %d", MaxRows)
	}
	if i.PackageSource != "" && !slices.Contains([]string{"repository", "registry", "list"}, i.PackageSource) {
		return fmt.Errorf("packageSource must be repository, registry or list")
	}
	if i.LastReleaseAt != "" {
		released, err := time.Parse(time.DateOnly, i.LastReleaseAt)
		if err != nil || released.Year() < 2000 {
			return fmt.Errorf("lastReleaseAt must be a date such as 2026-01-31")
		}
		row.LastReleaseAt = &released
	}
	var names, reads, writes []string
	for _, t := range i.Tools {
		names = append(names, t.Name)
		switch {
		case t.ReadOnly == nil:
		case *t.ReadOnly:
			reads = append(reads, t.Name)
		default:
			writes = append(writes, t.Name)
		}
	}
	row.ReadTools, row.WriteTools = cleanList(reads, maxTools, maxTool), cleanList(writes, maxTools, maxTool)
	if len(row.ToolNames) == 0 {
		row.ToolNames = cleanList(names, maxTools, maxTool)
	}
	return nil
}

// unusableAddresses returns the members whose URLs would be dropped.
func (i *item) unusableAddresses() []string {
	var members []string
	for _, a := range []struct {
		member, address string
		clean           func(string) string
	}{
		{"iconUrl", i.IconURL, CleanIcon}, {"repoUrl", i.RepoURL, CleanLink}, {"docsUrl", i.DocsURL, CleanLink},
		{"websiteUrl", i.WebsiteURL, CleanLink}, {"altRemoteUrl", i.AltRemoteURL, cleanEndpoint},
	} {
		if strings.TrimSpace(a.address) != "" && a.clean(a.address) == "" {
			members = append(members, a.member)
		}
	}
	return members
}

// hashed returns the content that is compared to detect changes of a row by its
// source: the cleaned item without its id.
func (i *item) hashed(row *models.CatalogEntry) any {
	content := []any{
		row.Version, row.PublisherName, row.PublisherTitle, row.ServerName, row.ServerTitle, row.ServerType, row.Tags,
		row.Verified, row.VerifiedEvidence, row.Featured, row.IconURL, row.RepoURL, row.DocsURL, row.WebsiteURL, row.Description,
		row.RemoteURL, row.AltRemoteURL, row.AuthType, row.AuthHeader, row.DynamicRegistration, row.PackageType, row.PackageIdentifier,
		row.SecretEnv, row.ToolNames, row.Status,
	}
	if len(row.Packages)+len(row.Variables) > 0 { // rows of older formats keep their hash
		content = append(content, row.Packages, row.Variables)
	}
	if row.FeaturedRank != 0 || row.PackageSource+row.License != "" || row.LastReleaseAt != nil || len(row.ReadTools)+len(row.WriteTools) > 0 {
		content = append(content, row.FeaturedRank, row.PackageSource, row.License, row.LastReleaseAt, row.ReadTools, row.WriteTools)
	}
	return content
}

func hashOf(parts ...any) (string, error) {
	text, err := json.Marshal(parts)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16]), nil
}

func checkEntry(row *models.CatalogEntry) error {
	switch {
	case !ValidName(row.PublisherName, false), !ValidName(row.ServerName, true), len(FullName(row)) > MaxName:
		return fmt.Errorf("its name must be publisher/server of letters, digits, dots and dashes, at most %d characters", MaxName)
	case row.ServerType != "http" && row.ServerType != "sse" && row.ServerType != "stdio":
		return fmt.Errorf("serverType must be http, sse or stdio")
	case row.ServerType != "stdio" && row.RemoteURL == "":
		return fmt.Errorf("remoteUrl must be an http or https URL without variables")
	case !slices.Contains([]string{"none", "bearer", "header", "oauth", "unknown"}, row.AuthType):
		return fmt.Errorf("authType must be none, bearer, header, oauth or unknown")
	case row.PackageType != "" && !slices.Contains(models.PackageTypes(), row.PackageType):
		return fmt.Errorf("packageType must be npm, pypi or oci")
	case slices.ContainsFunc(row.Packages, func(p models.CatalogPackage) bool { return !slices.Contains(models.PackageTypes(), p.Type) }):
		return fmt.Errorf("the type of a package must be npm, pypi or oci")
	case len(row.Packages) > 0 && (row.PackageType != row.Packages[0].Type || row.PackageIdentifier != row.Packages[0].Identifier):
		return fmt.Errorf("packageType and packageIdentifier must be those of the first package")
	case !validStatus(row.Status):
		return fmt.Errorf("status must be active, deprecated or deleted")
	}
	return nil
}

func validStatus(s models.CatalogStatus) bool {
	return s == models.CatalogActive || s == models.CatalogDeprecated || s == models.CatalogDeleted
}

// templateItem is a template in the catalog's own file format.
type templateItem struct {
	ID                    string    `json:"id"`
	Slug                  string    `json:"slug"`
	Title                 string    `json:"title"`
	Description           string    `json:"description"`
	Role                  string    `json:"role"`
	Category              string    `json:"category"`
	Difficulty            string    `json:"difficulty"`
	EstimatedSetupMinutes int64     `json:"estimatedSetupMinutes"`
	Tags                  []string  `json:"tags"`
	RelatedServerNames    []string  `json:"relatedServerNames"`
	Steps                 []string  `json:"steps"`
	CreatedAt             time.Time `json:"createdAt"`
	Status                string    `json:"status,omitempty"`
}

// template returns the row of an item, cleaned and within the limits, or an
// error with the reason why it is invalid.
func (i *templateItem) template() (models.CatalogTemplate, error) {
	if err := i.checkMembers(); err != nil {
		return models.CatalogTemplate{}, err
	}
	row := models.CatalogTemplate{
		ID: i.ID, Slug: i.Slug, Title: Clean(i.Title, MaxTitle), Description: Clean(i.Description, MaxDescription),
		Role: Clean(i.Role, maxShort), Category: Clean(i.Category, maxTag), Difficulty: i.Difficulty, EstimatedSetupMinutes: i.EstimatedSetupMinutes,
		Tags: Tags(i.Tags), RelatedServerNames: cleanList(i.RelatedServerNames, maxRelated, MaxName), Steps: cleanList(i.Steps, maxSteps, maxStep),
		Status: models.CatalogStatus(cmp.Or(i.Status, string(models.CatalogActive))), CreatedAt: i.CreatedAt.UTC().Truncate(time.Millisecond),
	}
	switch {
	case !ValidName(row.Slug, false), len(row.Slug) > maxShort, row.Slug != strings.ToLower(row.Slug):
		return row, fmt.Errorf("slug must be lower-case letters, digits and dashes")
	case row.Title == "":
		return row, fmt.Errorf("title must not be empty")
	case row.Difficulty != "beginner" && row.Difficulty != "intermediate" && row.Difficulty != "advanced":
		return row, fmt.Errorf("difficulty must be beginner, intermediate or advanced")
	case row.EstimatedSetupMinutes < 0 || row.EstimatedSetupMinutes > maxMinutes:
		return row, fmt.Errorf("estimatedSetupMinutes must be from 0 to %d", maxMinutes)
	case row.CreatedAt.Year() < 2000 || row.CreatedAt.Year() > 9999:
		return row, fmt.Errorf("createdAt must be a time such as 2026-01-31T09:00:00Z")
	case !validStatus(row.Status):
		return row, fmt.Errorf("status must be active, deprecated or deleted")
	}
	if !validID(row.ID) {
		row.ID = NewID(templateIDs, row.Slug)
	}
	hash, err := hashOf(row.Slug, row.Title, row.Description, row.Role, row.Category, row.Difficulty, row.EstimatedSetupMinutes,
		row.Tags, row.RelatedServerNames, row.Steps, row.Status, row.CreatedAt)
	row.ContentHash = hash
	return row, err
}

// FullName returns the name of an entry in the official registry's form.
func FullName(row *models.CatalogEntry) string { return row.PublisherName + "/" + row.ServerName }

// Tags returns tags in lower case.
func Tags(list []string) []string {
	lower := make([]string, len(list))
	for i, tag := range list {
		lower[i] = strings.ToLower(tag)
	}
	return cleanList(lower, maxTags, maxTag)
}

// CheckTags returns what is wrong with the tags that a person enters, or "". Tags
// removes what it reports instead.
func CheckTags(list []string) string {
	for _, tag := range list {
		if utf8.RuneCountInString(strings.TrimSpace(tag)) > maxTag {
			return fmt.Sprintf("use tags of at most %d characters", maxTag)
		}
	}
	if len(cleanList(list, len(list), maxTag)) > maxTags {
		return fmt.Sprintf("use at most %d tags", maxTags)
	}
	return ""
}

// validID reports whether an id can be used in a URL without escaping.
func validID(id string) bool { return len(id) >= 8 && len(id) <= 64 && ValidName(id, true) }

// NewID returns the id derived from a name of the kind.
func NewID(kind, name string) string {
	return uuid.NewSHA1(uuid.NameSpaceURL, []byte(kind+name)).String()
}
