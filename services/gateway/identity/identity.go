// Package identity describes a project to its clients: its implementation object
// and its instructions for models.
package identity

import (
	"mcpgateway/models"
	"mcpgateway/services/declaration"
	"mcpgateway/services/rawjson"
)

// First protocol revisions with members of the implementation object (MCP,
// "Implementation").
const (
	revisionTitle       = "2025-06-18"
	revisionDescription = "2025-11-25" // also of websiteUrl and icons
)

// Full returns the raw implementation object of a project for clients of a
// protocol revision. version is that of the gateway. Empty members are left out.
func Full(project *models.Project, version, revision string) []byte {
	b := Brief(project, version, revision)
	if revision < revisionDescription {
		return b
	}
	b = appendMember(b[:len(b)-1], "description", project.Description)
	b = appendMember(b, "websiteUrl", project.WebsiteURL)
	if project.Icon != "" {
		b = append(append(b, `,"icons":[{"src":`...), rawjson.Quote(project.Icon)...)
		b = append(appendMember(b, "mimeType", declaration.IconType(project.Icon)), `}]`...)
	}
	return append(b, '}')
}

// Brief is like Full, with only the name, title and version. It is for results
// whose client can request the other members.
func Brief(project *models.Project, version, revision string) []byte {
	b := append([]byte(`{"name":`), rawjson.Quote(project.Slug)...)
	if revision >= revisionTitle {
		b = appendMember(b, "title", project.Name)
	}
	return append(append(append(b, `,"version":`...), rawjson.Quote(version)...), '}')
}

// appendMember appends a member whose text is not empty.
func appendMember(b []byte, name, text string) []byte {
	if text == "" {
		return b
	}
	b = append(append(append(b, `,"`...), name...), `":`...)
	return append(b, rawjson.Quote(text)...)
}
