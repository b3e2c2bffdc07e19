package oauthserver

import (
	"context"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/activity"
	"mcpgateway/services/fault"
	"mcpgateway/services/secrets"
)

// Registration is a client that has just registered itself.
type Registration struct {
	Client models.OAuthClient
	Secret secrets.Value // empty for public clients; not stored
}

// Register registers the client with the metadata, a JSON object (RFC 7591,
// section 3), for a caller at the address ip, and records client.registered.
// Clients are public unless they ask for a secret. Unusable redirect URIs are
// dropped. It returns refusals with invalid_redirect_uri when none is left and
// with invalid_client_metadata for other metadata that cannot be used,
// RATE_LIMITED, and UNAVAILABLE while too many clients wait for their first
// use.
func (s *Server) Register(ctx context.Context, body []byte, ip string) (Registration, error) {
	if err := s.count(ctx, "register:"+network(ip), RegistrationsPerHour); err != nil {
		return Registration{}, err
	}
	if len(body) > MaxRegistration {
		return Registration{}, refuse(InvalidClientMetadata, "the metadata is larger than 8 KiB")
	}
	m, err := parseMetadata(body)
	if err == nil {
		err = m.check()
	}
	if err != nil {
		return Registration{}, err
	}
	r := Registration{Client: models.OAuthClient{
		ID: newClientID(), Kind: models.ClientRegistered, Name: cleanName(m.ClientName), CreatedAt: s.now(),
		AuthMethod: models.AuthMethod(m.AuthMethod), SecretHash: []byte{},
	}}
	if r.Client.RedirectURIs, err = m.usableRedirects(); err != nil {
		return Registration{}, err
	}
	switch r.Client.AuthMethod {
	case "":
		r.Client.AuthMethod = models.AuthMethodNone
	case models.AuthMethodNone:
	case models.AuthMethodBasic, models.AuthMethodPost:
		r.Secret, r.Client.SecretHash = newSecret(secretPrefix)
	default:
		return Registration{}, refuse(InvalidClientMetadata, "token_endpoint_auth_method must be none, client_secret_basic or client_secret_post")
	}
	err = s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		var unused int64
		if err := tx.Model(&models.OAuthClient{}).Where("last_used_at IS NULL").Count(&unused).Error; err != nil {
			return err
		}
		if unused >= MaxUnusedClients {
			return fault.New(fault.KindUnavailable, fault.CodeUnavailable, "too many clients registered and were not used: try again tomorrow")
		}
		if err := tx.Create(&r.Client).Error; err != nil {
			return err
		}
		return s.audit.RecordAll(tx, []activity.Entry{clientEntry("client.registered", &r.Client)})
	})
	if err != nil {
		return Registration{}, fault.From(err)
	}
	return r, nil
}

// clientEntry returns what the audit log says of a client.
func clientEntry(action string, client *models.OAuthClient) activity.Entry {
	return activity.Entry{Action: action, Object: nameOf(client), ObjectID: client.ID, Detail: map[string]string{
		"kind": string(client.Kind), "redirect": client.RedirectURIs[0],
	}}
}

// nameOf returns what a client is called where people read it.
func nameOf(client *models.OAuthClient) string {
	if client.Name != "" {
		return client.Name
	}
	return client.ID
}
