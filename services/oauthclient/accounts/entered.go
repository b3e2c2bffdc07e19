package accounts

import (
	"strings"

	"golang.org/x/net/http/httpguts"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/oauthclient/authserver"
	"mcpgateway/services/secrets"
	"mcpgateway/services/upstream"
)

// MaxEntered is the maximum size of a token or a header value that a user enters,
// in bytes.
const MaxEntered = 8192

// Check returns the credentials that a user entered for a personal server,
// trimmed and with the configured names of headers. It returns VALIDATION_FAILED
// for missing, unknown and unsuitable values, by field: bearer, headers and
// headers.NAME.
func Check(server *models.Server, entered upstream.Credentials) (upstream.Credentials, error) {
	fields := map[string]string{}
	bearer := bearerOf(server, entered.Bearer.Reveal(), fields)
	headers := make(map[string]secrets.Value, len(server.PersonalHeaders))
	for name, given := range entered.Headers {
		known := personalHeader(server, name)
		value := strings.TrimSpace(given.Reveal())
		switch {
		case known == "":
			fields["headers"] = "Server " + server.Alias + " takes the headers " + strings.Join(server.PersonalHeaders, ", ") + "."
			if len(server.PersonalHeaders) == 0 {
				fields["headers"] = "Server " + server.Alias + " takes no headers."
			}
		case len(value) > MaxEntered || !httpguts.ValidHeaderFieldValue(value):
			fields["headers."+known] = "A value has at most 8,192 bytes without control characters."
		case value != "":
			headers[known] = secrets.NewValue(value)
		}
	}
	for _, name := range server.PersonalHeaders {
		if headers[name].IsZero() && fields["headers."+name] == "" {
			fields["headers."+name] = "Enter your value of " + name + "."
		}
	}
	if len(fields) > 0 {
		return upstream.Credentials{}, fault.Validation(fields)
	}
	return upstream.Credentials{Bearer: secrets.NewValue(bearer), Headers: headers}, nil
}

// bearerOf returns the token that a user entered, without "Bearer " before it. It
// adds what is wrong to fields.
func bearerOf(server *models.Server, given string, fields map[string]string) string {
	text := strings.TrimSpace(given) + " "
	token := strings.TrimSpace(strings.TrimPrefix(text, "Bearer "))
	switch {
	case server.AuthType != models.UpstreamAuthBearer:
		if token != "" {
			fields["bearer"] = "Server " + server.Alias + " doesn't take a bearer token."
		}
	case token == "":
		fields["bearer"] = "Enter your token."
	case len(token) > MaxEntered || !authserver.IsVisible(token):
		fields["bearer"] = "A token has at most 8,192 visible ASCII characters."
	}
	return token
}

// personalHeader returns the configured spelling of a personal header, or "".
func personalHeader(server *models.Server, name string) string {
	for _, known := range server.PersonalHeaders {
		if strings.EqualFold(known, name) {
			return known
		}
	}
	return ""
}
