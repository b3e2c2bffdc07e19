package oauthserver

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mcpgateway/models"
	"mcpgateway/services/rawjson"
)

// clientMetadata is the metadata in a registration or metadata document (RFC
// 7591, section 2). Other fields are ignored.
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

// maxMetadataDepth is the maximum nesting of metadata.
const maxMetadataDepth = 16

// parseMetadata parses metadata. It returns invalid_client_metadata unless it
// is a JSON object with fields of the right types.
func parseMetadata(body []byte) (clientMetadata, error) {
	var m clientMetadata
	if rawjson.CheckDepth(body, maxMetadataDepth) != nil {
		return m, refuse(InvalidClientMetadata, "metadata nested too deeply")
	}
	if _, err := rawjson.ParseObject(body, rawjson.Strict); err != nil {
		return m, refuse(InvalidClientMetadata, "metadata must be a JSON object without duplicate names")
	}
	if err := json.Unmarshal(body, &m); err != nil {
		return m, refuse(InvalidClientMetadata, "a metadata field has the wrong type")
	}
	return m, nil
}

// check returns an error for metadata that requires unsupported features.
func (m *clientMetadata) check() error {
	switch {
	case len(m.GrantTypes) > 0 && !slices.Contains(m.GrantTypes, "authorization_code"):
		return refuse(InvalidClientMetadata, "grant_types must have authorization_code")
	case len(m.ResponseTypes) > 0 && !slices.Contains(m.ResponseTypes, "code"):
		return refuse(InvalidClientMetadata, "response_types must have code")
	case len(m.RedirectURIs) == 0:
		return refuse(InvalidRedirectURI, "redirect_uris is missing")
	case len(m.RedirectURIs) > MaxRedirectURIs:
		return refuse(InvalidRedirectURI, "more than 10 redirect_uris")
	}
	return nil
}

// usableRedirects returns the valid redirect URIs. Invalid ones are dropped,
// because some clients register one per program. Without a valid one it returns
// invalid_redirect_uri with the reason.
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
