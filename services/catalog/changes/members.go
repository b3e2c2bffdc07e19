// Package changes describes how rows of the catalog change, and stores the
// history of its entries.
package changes

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"mcpgateway/models"
)

// Member is a changed member of a row, by its name in the catalog's file format,
// with its values before and after. A list has the elements that left and those
// that are new.
type Member struct{ Name, Old, New string }

// None stands for an empty value.
const None = "–"

// maxValue is the maximum number of characters of a value.
const maxValue = 200

// String returns the values as "old → new".
func (m Member) String() string { return m.Old + " → " + m.New }

// OfEntry returns the changed members of an entry, in the order of the file
// format.
func OfEntry(a, b *models.CatalogEntry) []Member {
	var d diff
	d.text("publisherName", a.PublisherName, b.PublisherName)
	d.text("publisherTitle", a.PublisherTitle, b.PublisherTitle)
	d.text("serverName", a.ServerName, b.ServerName)
	d.text("serverTitle", a.ServerTitle, b.ServerTitle)
	d.text("serverType", a.ServerType, b.ServerType)
	d.text("version", a.Version, b.Version)
	d.text("status", string(a.Status), string(b.Status))
	d.text("description", a.Description, b.Description)
	d.list("tags", a.Tags, b.Tags)
	d.truth("verified", a.Verified, b.Verified)
	d.text("verifiedEvidence", a.VerifiedEvidence, b.VerifiedEvidence)
	d.truth("featured", a.Featured, b.Featured)
	d.number("featuredRank", a.FeaturedRank, b.FeaturedRank)
	d.text("iconUrl", a.IconURL, b.IconURL)
	d.text("repoUrl", a.RepoURL, b.RepoURL)
	d.text("docsUrl", a.DocsURL, b.DocsURL)
	d.text("websiteUrl", a.WebsiteURL, b.WebsiteURL)
	d.text("remoteUrl", a.RemoteURL, b.RemoteURL)
	d.text("altRemoteUrl", a.AltRemoteURL, b.AltRemoteURL)
	d.text("authType", a.AuthType, b.AuthType)
	d.text("authHeader", a.AuthHeader, b.AuthHeader)
	d.text("oauthDynamicRegistration", optional(a.DynamicRegistration), optional(b.DynamicRegistration))
	d.text("packageType", a.PackageType, b.PackageType)
	d.text("packageIdentifier", a.PackageIdentifier, b.PackageIdentifier)
	d.list("packages", packages(a.Packages), packages(b.Packages))
	d.text("packageSource", a.PackageSource, b.PackageSource)
	d.list("env", variables(a.Variables), variables(b.Variables))
	d.list("secretEnv", a.SecretEnv, b.SecretEnv)
	d.text("license", a.License, b.License)
	d.text("lastReleaseAt", day(a.LastReleaseAt), day(b.LastReleaseAt))
	d.list("toolNames", a.ToolNames, b.ToolNames)
	d.list("tools that read", a.ReadTools, b.ReadTools)
	d.list("tools that write", a.WriteTools, b.WriteTools)
	d.truth("hidden", a.Hidden, b.Hidden)
	return d
}

// OfTemplate returns the changed members of a template.
func OfTemplate(a, b *models.CatalogTemplate) []Member {
	var d diff
	d.text("slug", a.Slug, b.Slug)
	d.text("title", a.Title, b.Title)
	d.text("status", string(a.Status), string(b.Status))
	d.text("description", a.Description, b.Description)
	d.text("role", a.Role, b.Role)
	d.text("category", a.Category, b.Category)
	d.text("difficulty", a.Difficulty, b.Difficulty)
	d.number("estimatedSetupMinutes", a.EstimatedSetupMinutes, b.EstimatedSetupMinutes)
	d.list("tags", a.Tags, b.Tags)
	d.list("relatedServerNames", a.RelatedServerNames, b.RelatedServerNames)
	d.list("steps", a.Steps, b.Steps)
	d.text("createdAt", day(&a.CreatedAt), day(&b.CreatedAt))
	return d
}

// diff collects changed members.
type diff []Member

func (d *diff) text(name, before, after string) {
	if before != after {
		before, after = excerpts([]rune(before), []rune(after))
		*d = append(*d, Member{name, before, after})
	}
}

func (d *diff) truth(name string, before, after bool) {
	d.text(name, strconv.FormatBool(before), strconv.FormatBool(after))
}

func (d *diff) number(name string, before, after int64) {
	d.text(name, strconv.FormatInt(before, 10), strconv.FormatInt(after, 10))
}

// list adds the elements that only one of the lists has. A different order is a
// change of all elements.
func (d *diff) list(name string, before, after []string) {
	if slices.Equal(before, after) {
		return
	}
	gone, added := without(before, after), without(after, before)
	if len(gone)+len(added) == 0 {
		gone, added = before, after
	}
	d.text(name, strings.Join(gone, ", "), strings.Join(added, ", "))
}

func without(list, other []string) []string {
	known := make(map[string]bool, len(other))
	for _, s := range other {
		known[s] = true
	}
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return known[s] })
}

// lead is the number of equal characters before the first difference of long
// values.
const lead = 20

// excerpts returns the values, or of long ones the part with the first difference.
func excerpts(before, after []rune) (string, string) {
	from := 0
	if max(len(before), len(after)) > maxValue {
		for from < min(len(before), len(after)) && before[from] == after[from] {
			from++
		}
		from = max(from-lead, 0)
	}
	return excerpt(before, from), excerpt(after, from)
}

func excerpt(text []rune, from int) string {
	if len(text) == 0 {
		return None
	}
	part := text[min(from, len(text)):]
	prefix, suffix := "", ""
	if from > 0 {
		prefix = "…"
	}
	if len(part) > maxValue {
		part, suffix = part[:maxValue], "…"
	}
	return prefix + string(part) + suffix
}

func optional(b *bool) string {
	if b == nil {
		return ""
	}
	return strconv.FormatBool(*b)
}

func day(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.UTC().Format(time.DateOnly)
}

func packages(list []models.CatalogPackage) []string {
	out := make([]string, len(list))
	for i, p := range list {
		out[i] = strings.Join(append([]string{p.Type, p.Identifier}, p.Args...), " ")
	}
	return out
}

func variables(list []models.CatalogVariable) []string {
	out := make([]string, len(list))
	for i, v := range list {
		words := []string{v.Name}
		if v.Required != nil {
			words = append(words, map[bool]string{true: "(required)", false: "(optional)"}[*v.Required])
		}
		if v.Secret {
			words = append(words, "(secret)")
		}
		if v.Description != "" {
			words = append(words, v.Description)
		}
		out[i] = strings.Join(words, " ")
	}
	return out
}
