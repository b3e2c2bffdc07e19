package oauthserver

import (
	"context"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/activity"
	"mcpgateway/services/fault"
	"mcpgateway/services/secrets"
)

// Registration is a newly registered client.
type Registration struct {
	Client models.OAuthClient
	Secret secrets.Value // empty for public clients; not stored
}

// Register registers a client with metadata, a JSON object (RFC 7591, section
// 3), for a caller at the address ip. client.registered is recorded at the
// first consent, because anyone can register. Clients are public unless they
// request a secret. Invalid redirect URIs are dropped. If there are too many
// unused clients, the oldest are deleted. It returns a Refusal with
// invalid_redirect_uri if no URI is valid, and with invalid_client_metadata for
// other invalid metadata; RATE_LIMITED; and UNAVAILABLE if all unused clients
// are recent.
func (s *Server) Register(ctx context.Context, body []byte, ip string) (Registration, error) {
	for _, network := range registrationNetworks(ip) {
		if err := s.count(ctx, "register:"+network.name, network.limit); err != nil {
			return Registration{}, err
		}
	}
	if len(body) > MaxRegistration {
		return Registration{}, refuse(InvalidClientMetadata, "metadata larger than 8 KiB")
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
		r.Secret, r.Client.SecretHash = newSecret(secretPrefix, "")
	default:
		return Registration{}, refuse(InvalidClientMetadata, "token_endpoint_auth_method must be none, client_secret_basic or client_secret_post")
	}
	err = s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		if err := s.evictUnused(tx); err != nil {
			return err
		}
		return tx.Create(&r.Client).Error
	})
	if err != nil {
		return Registration{}, fault.From(err)
	}
	return r, nil
}

// evictUnused deletes the oldest unused clients beyond the limit, except those
// younger than UnusedClientGrace. It returns UNAVAILABLE if that is not enough.
func (s *Server) evictUnused(tx *gorm.DB) error {
	var unused int64
	if err := tx.Model(&models.OAuthClient{}).Where("last_used_at IS NULL").Count(&unused).Error; err != nil {
		return err
	}
	excess := unused - MaxUnusedClients + 1
	if excess <= 0 {
		return nil
	}
	oldest := tx.Model(&models.OAuthClient{}).Select("id").Where("last_used_at IS NULL AND created_at < ?", s.now().Add(-UnusedClientGrace)).
		Order("created_at, id").Limit(int(excess))
	result := tx.Where("last_used_at IS NULL AND id IN (?)", oldest).Delete(&models.OAuthClient{})
	if result.Error != nil {
		return result.Error
	}
	if result.RowsAffected < excess {
		f := fault.New(fault.KindUnavailable, fault.CodeUnavailable, "Too many clients have registered recently. Retry in a few minutes.")
		f.RetryAfter = time.Minute
		return f
	}
	return nil
}

// clientEntry returns an audit entry for a client.
func clientEntry(action string, client *models.OAuthClient) activity.Entry {
	return activity.Entry{Action: action, Object: nameOf(client), ObjectID: client.ID, Detail: map[string]string{
		"kind": string(client.Kind), "redirect": client.RedirectURIs[0],
	}}
}

// nameOf returns the display name of a client.
func nameOf(client *models.OAuthClient) string {
	if client.Name != "" {
		return client.Name
	}
	return client.ID
}
