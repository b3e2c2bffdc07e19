package destinations

import (
	"net/http"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/http/httpguts"
	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/outbox"
	"mcpgateway/services/outbox/signing"
	"mcpgateway/services/secrets"
)

// check returns VALIDATION_FAILED with every wrong field, or a fault of the filter.
func (s *Store) check(row *models.Destination, address, secret secrets.Value) error {
	wrong := map[string]string{}
	if row.Name == "" || utf8.RuneCountInString(row.Name) > MaxName || strings.ContainsFunc(row.Name, unicode.IsControl) {
		wrong["name"] = "use 1 to 100 characters"
	}
	switch row.Kind {
	case models.DestinationWebhook, models.DestinationSlack, models.DestinationOTLP:
	case models.DestinationFile:
		wrong["kind"] = "the file is set with GATEWAY_OUTBOX_FILE on the gateway's machine"
	default:
		wrong["kind"] = "use webhook, slack or otlp"
	}
	if err := s.CheckURL(address.Reveal()); err != nil {
		wrong["address"] = fault.From(err).Message
	}
	if err := checkSecret(row.Kind, secret); err != nil {
		for field, text := range fault.From(err).Fields {
			wrong[field] = text
		}
	}
	if len(wrong) > 0 {
		return fault.Validation(wrong)
	}
	_, err := outbox.ParseFilter(row.Filter)
	return err
}

// checkSecret returns VALIDATION_FAILED for a secret that the kind can't have.
func checkSecret(kind models.DestinationKind, secret secrets.Value) error {
	switch kind {
	case models.DestinationWebhook:
		return signing.Check(secret)
	case models.DestinationOTLP:
		if secret.IsZero() {
			return nil
		}
		if _, _, ok := Header(secret); !ok {
			return fault.Validation(map[string]string{"secret": "use one header, such as Authorization: Bearer TOKEN"})
		}
	case models.DestinationSlack:
		if !secret.IsZero() {
			return fault.Validation(map[string]string{"secret": "Slack needs none: its address is the secret"})
		}
	}
	return nil
}

// Header returns the header in the secret of an OTLP destination.
func Header(secret secrets.Value) (name, value string, ok bool) {
	name, value, ok = strings.Cut(secret.Reveal(), ":")
	name, value = strings.TrimSpace(name), strings.TrimSpace(value)
	ok = ok && value != "" && len(value) <= MaxHeader && httpguts.ValidHeaderFieldName(name) && httpguts.ValidHeaderFieldValue(value)
	switch http.CanonicalHeaderKey(name) {
	case "Host", "Content-Type", "Content-Length", "Content-Encoding", "Transfer-Encoding", "Connection":
		ok = false
	}
	return name, value, ok
}

// checkName returns CONFLICT if another destination has the name.
func checkName(tx *gorm.DB, row *models.Destination) error {
	var count int64
	err := tx.Model(&models.Destination{}).Where("lower(name) = lower(?) AND id <> ?", row.Name, row.ID).Count(&count).Error
	if err == nil && count > 0 {
		err = fault.Conflict("There is already a destination named %s. Choose another name.", row.Name)
	}
	return err
}

// Shown returns an address without its path and query, which can contain
// credentials.
func Shown(address secrets.Value) string {
	u, err := url.Parse(address.Reveal())
	if err != nil || u.Host == "" {
		return "(hidden)"
	}
	shown := u.Scheme + "://" + u.Host
	if len(u.Path) > 1 || u.RawQuery != "" {
		shown += "/…"
	}
	return shown
}

// ShownAddress returns the address of a row as Shown does, and the path of a file.
func (s *Store) ShownAddress(row *models.Destination) string {
	if row.Kind == models.DestinationFile {
		return row.Address
	}
	address, err := s.Keys.Open(row.Address, AddressRow(row.ID))
	if err != nil {
		return "(sealed with a missing key)"
	}
	return Shown(address)
}
