package oauthserver

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mcpgateway/models"
	"mcpgateway/services/rawjson"
)

// clientMetadata is what a client says of itself, in a registration or in its
// metadata document (RFC 7591, section 2). What is missing here is ignored.
type clientMetadata struct {
	ClientID      string         `json:"client_id"`
	ClientName    string         `json:"client_name"`
	RedirectURIs  []string       `json:"redirect_uris"`
	AuthMethod    string         `json:"token_endpoint_auth_method"`
	GrantTypes    []string       `json:"grant_types"`
	ResponseTypes []string       `json:"response_types"`
	ClientSecret  jsontext.Value `json:"client_secret"`
	SecretEnds    jsontext.Value `json:"client_secret_expires_at"`
}

// maxMetadataDepth is how deep metadata may be nested.
const maxMetadataDepth = 16

// parseMetadata reads metadata. It returns invalid_client_metadata for what is
// no JSON object or has a field of the wrong type.
func parseMetadata(body []byte) (clientMetadata, error) {
	var m clientMetadata
	if rawjson.CheckDepth(body, maxMetadataDepth) != nil {
		return m, refuse(InvalidClientMetadata, "the metadata is nested too deeply")
	}
	if _, err := rawjson.ParseObject(body, rawjson.Strict); err != nil {
		return m, refuse(InvalidClientMetadata, "the metadata must be a JSON object without repeated names")
	}
	if err := json.Unmarshal(body, &m); err != nil {
		return m, refuse(InvalidClientMetadata, "a field of the metadata has the wrong type")
	}
	return m, nil
}

// check returns what the metadata says that this server cannot be.
func (m *clientMetadata) check() error {
	switch {
	case len(m.GrantTypes) > 0 && !slices.Contains(m.GrantTypes, "authorization_code"):
		return refuse(InvalidClientMetadata, "grant_types must have authorization_code")
	case len(m.ResponseTypes) > 0 && !slices.Contains(m.ResponseTypes, "code"):
		return refuse(InvalidClientMetadata, "response_types must have code")
	case len(m.RedirectURIs) == 0:
		return refuse(InvalidRedirectURI, "redirect_uris is missing")
	case len(m.RedirectURIs) > MaxRedirectURIs:
		return refuse(InvalidRedirectURI, "there are more than 10 redirect_uris")
	}
	return nil
}

// usableRedirects returns the redirect URIs that may be used. Some clients
// name one for each of their programs, so the others are dropped; without any
// it returns invalid_redirect_uri with what is wrong.
func (m *clientMetadata) usableRedirects() (models.StringList, error) {
	var usable models.StringList
	var wrong []string
	for _, raw := range m.RedirectURIs {
		if _, err := parseRedirectURI(raw); err != nil {
			wrong = append(wrong, err.Error())
			continue
		}
		if !slices.Contains(usable, raw) {
			usable = append(usable, raw)
		}
	}
	if len(usable) == 0 {
		slices.Sort(wrong)
		return nil, refuse(InvalidRedirectURI, strings.Join(slices.Compact(wrong), "; "))
	}
	return usable, nil
}
