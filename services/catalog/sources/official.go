package sources

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mcpgateway/models"
)

// OfficialMeta is the key of the registry's own metadata about a server
// (official registry API, ServerResponse).
const OfficialMeta = "io.modelcontextprotocol.registry/official"

// officialPage is one page of GET /v0.1/servers (official registry API,
// ServerList).
type officialPage struct {
	raw      []byte
	Servers  []officialRow `json:"servers"`
	Metadata struct {
		NextCursor string `json:"nextCursor"`
		Count      int    `json:"count"`
	} `json:"metadata"`
}

type officialRow struct {
	Server jsontext.Value            `json:"server"`
	Meta   map[string]jsontext.Value `json:"_meta"`
}

// officialState is the registry's metadata of one version of a server.
type officialState struct {
	Status      string     `json:"status"`
	PublishedAt *time.Time `json:"publishedAt"`
	UpdatedAt   *time.Time `json:"updatedAt"`
	IsLatest    *bool      `json:"isLatest"`
}

// officialServer contains the members of server.json that the catalog uses
// (official registry API, ServerDetail).
type officialServer struct {
	Name        string `json:"name"`
	Title       string `json:"title"`
	Description string `json:"description"`
	Version     string `json:"version"`
	Status      string `json:"status"` // of older registries
	WebsiteURL  string `json:"websiteUrl"`
	Repository  struct {
		URL string `json:"url"`
	} `json:"repository"`
	Icons []struct {
		Src string `json:"src"`
	} `json:"icons"`
	Remotes []struct {
		Type    string          `json:"type"`
		URL     string          `json:"url"`
		Headers []officialInput `json:"headers"`
	} `json:"remotes"`
	Packages []struct {
		RegistryType         string          `json:"registryType"`
		Identifier           string          `json:"identifier"`
		EnvironmentVariables []officialInput `json:"environmentVariables"`
	} `json:"packages"`
}

type officialInput struct {
	Name       string `json:"name"`
	IsSecret   bool   `json:"isSecret"`
	IsRequired bool   `json:"isRequired"`
}

// officialBatch collects the latest versions of servers.
type officialBatch struct {
	Batch
	published map[string]time.Time // publication time of the stored version, by name
	ignored   notices
	highWater time.Time
}

// read adds one row of a page. It skips invalid rows with a warning, so that
// one publisher's mistake doesn't affect the others.
func (b *officialBatch) read(row officialRow) {
	b.Fetched++
	var server officialServer
	if err := json.Unmarshal(row.Server, &server, jsontext.AllowInvalidUTF8(true)); err != nil {
		b.skip("", fmt.Errorf("its server object is invalid: %w", typeError(err)))
		return
	}
	var state officialState
	raw, ok := row.Meta[OfficialMeta]
	if ok {
		if err := json.Unmarshal(raw, &state, jsontext.AllowInvalidUTF8(true)); err != nil {
			b.skip(server.Name, fmt.Errorf("its registry metadata is invalid: %w", typeError(err)))
			return
		}
	}
	if state.UpdatedAt != nil && state.UpdatedAt.After(b.highWater) {
		b.highWater = *state.UpdatedAt
	}
	if state.IsLatest != nil && !*state.IsLatest {
		return
	}
	publisher, name, ok := strings.Cut(server.Name, "/")
	if !ok || !ValidName(publisher, false) || !ValidName(name, true) || len(server.Name) > MaxName {
		b.skip(server.Name, errors.New("its name is not valid in the official format"))
		return
	}
	if !b.newer(server.Name, state) {
		return
	}
	if cmp.Or(state.Status, server.Status) == string(models.CatalogDeleted) {
		b.Entries.withdraw(server.Name)
		return
	}
	b.keep(&server, cmp.Or(state.Status, server.Status), row.Server, raw)
}

// keep adds the row of a server. document is the server object and meta the
// registry's metadata.
func (b *officialBatch) keep(server *officialServer, status string, document, meta []byte) {
	text := strings.ToValidUTF8(string(document), "\uFFFD")
	if len(text) > maxDocument {
		text = ""
	}
	i, err := server.item(status)
	if err != nil {
		b.skip(server.Name, err)
		return
	}
	entry, err := i.entry(text)
	if err != nil {
		b.skip(server.Name, err)
		return
	}
	for _, path := range server.unusableAddresses() {
		b.ignored.add("the URL in "+path+" is invalid", server.Name)
	}
	unknown := func(path string) { b.ignored.add("the member "+path+" is unknown", server.Name) }
	officialServerMembers.unknown("server.", document, unknown)
	officialStateMembers.unknown("_meta.", meta, unknown)
	b.Entries.put(server.Name, &entry)
}

// newer reports whether a row supersedes the stored row of its name. Of two
// versions marked as latest, the one published later wins.
func (b *officialBatch) newer(name string, state officialState) bool {
	var published time.Time
	if state.PublishedAt != nil {
		published = *state.PublishedAt
	}
	if before, known := b.published[name]; known && published.Before(before) {
		return false
	}
	b.published[name] = published
	return true
}

// item returns the catalog's item for a server. A URL takes precedence over a
// package, and Streamable HTTP over SSE. The publisher is unverified.
func (s *officialServer) item(status string) (*item, error) {
	publisher, name, _ := strings.Cut(s.Name, "/")
	i := &item{
		Version: s.Version, PublisherName: publisher, PublisherTitle: publisherTitle(publisher), ServerName: name, ServerTitle: s.Title,
		Description: s.Description, RepoURL: s.Repository.URL, WebsiteURL: s.WebsiteURL, AuthType: "none", Status: status,
	}
	if len(s.Icons) > 0 {
		i.IconURL = s.Icons[0].Src
	}
	s.readPackages(i)
	templated := s.readRemotes(i)
	switch {
	case i.ServerType != "":
		return i, nil
	case templated:
		return nil, errors.New("its URL has variables or is invalid, and it has no package")
	}
	return nil, errors.New("it has neither a URL nor a package")
}

func (s *officialServer) readPackages(i *item) {
	for _, p := range s.Packages {
		i.ServerType = "stdio"
		if slices.Contains(models.PackageTypes(), p.RegistryType) {
			i.Packages = append(i.Packages, models.CatalogPackage{Type: p.RegistryType, Identifier: p.Identifier})
		}
		for _, variable := range p.EnvironmentVariables {
			if slices.ContainsFunc(i.Env, func(v models.CatalogVariable) bool { return v.Name == variable.Name }) {
				continue // packages of a server mostly have the same variables
			}
			if variable.IsSecret {
				i.SecretEnv = append(i.SecretEnv, variable.Name)
			}
			i.Env = append(i.Env, models.CatalogVariable{Name: variable.Name, Required: new(variable.IsRequired), Secret: variable.IsSecret})
		}
	}
}

// readRemotes sets the best usable URL. unusable reports that there was an
// unusable one.
func (s *officialServer) readRemotes(i *item) (unusable bool) {
	for _, wanted := range []struct{ official, ours string }{{"streamable-http", "http"}, {"sse", "sse"}} {
		for _, r := range s.Remotes {
			if r.Type != wanted.official {
				continue
			}
			url := cleanEndpoint(r.URL)
			switch {
			case url == "":
				unusable = true
			case i.RemoteURL == "":
				i.ServerType, i.RemoteURL = wanted.ours, url
				i.AuthType, i.AuthHeader = authOf(r.Headers)
			case i.ServerType == "http" && wanted.ours == "sse" && i.AltRemoteURL == "":
				i.AltRemoteURL = url
			}
		}
	}
	return unusable
}

// authOf returns the authentication of an endpoint according to the headers
// that it lists. Without headers it may still require OAuth, which the format
// doesn't declare.
func authOf(headers []officialInput) (kind, header string) {
	for _, h := range headers {
		if strings.EqualFold(h.Name, "Authorization") {
			return "bearer", ""
		}
	}
	for _, h := range headers {
		if h.IsSecret || h.IsRequired {
			return "header", h.Name
		}
	}
	return "unknown", ""
}

// publisherTitle returns a readable form of a namespace: the name of a GitHub
// account, or a domain in the usual order.
func publisherTitle(namespace string) string {
	if account, ok := strings.CutPrefix(namespace, "io.github."); ok && account != "" {
		return account
	}
	labels := strings.Split(namespace, ".")
	slices.Reverse(labels)
	return strings.Join(labels, ".")
}

// check returns an error for a page that violates the limits of the API.
func (p *officialPage) check() error {
	if len(p.Servers) > 10*pageRows {
		return fmt.Errorf("a page has %d servers instead of at most %d", len(p.Servers), pageRows)
	}
	if len(p.Metadata.NextCursor) > maxCursor {
		return errors.New("a cursor is too long")
	}
	return nil
}
