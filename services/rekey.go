package services

import (
	"context"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/access/factors"
	"mcpgateway/services/activity"
	"mcpgateway/services/artifacts"
	"mcpgateway/services/fault"
	"mcpgateway/services/oauthclient"
	"mcpgateway/services/oauthclient/accounts"
	"mcpgateway/services/outbox/destinations"
	"mcpgateway/services/projects"
	"mcpgateway/services/secrets"
)

// Rekey seals every stored secret with the active key and returns the number of
// resealed secrets. It skips a secret that is changed concurrently. It writes
// one audit row. If the key of a secret is missing, it returns the fault of
// secrets.KeyRing.Open and changes nothing. Then it renews the authentication
// codes of the audit log. If the log was tampered with, it returns an error,
// but the secrets stay resealed.
func (s *Services) Rekey(ctx context.Context) (resealed int, err error) {
	err = s.DB.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		r := &rekeying{tx: tx, keys: s.Config.Keys, stored: s.Artifacts}
		for _, part := range []func() error{r.servers, r.connections, r.registrations, r.authenticatorApps, r.artifacts, r.destinations} {
			if err := part(); err != nil {
				return err
			}
		}
		resealed = r.resealed
		if resealed == 0 {
			return nil
		}
		return s.Audit.Record(tx, activity.Entry{Action: "secrets.rekeyed", Object: s.Config.Keys.ActiveKID()})
	})
	if err != nil {
		return 0, fault.From(err)
	}
	_, err = s.Audit.Rekey(ctx)
	return resealed, err
}

type rekeying struct {
	tx       *gorm.DB
	keys     *secrets.KeyRing
	stored   *artifacts.Store
	resealed int
}

// column reseals the secret in one column. The old text is part of the
// condition, so that a newer secret is never overwritten.
func (r *rekeying) column(model any, key, id, column, sealed, row string) error {
	if !r.keys.NeedsReseal(sealed) {
		return nil
	}
	next, err := r.keys.Reseal(sealed, row)
	if err != nil {
		return err
	}
	done := r.tx.Model(model).Where(key+" = ? AND "+column+" = ?", id, sealed).UpdateColumn(column, next)
	r.resealed += int(done.RowsAffected)
	return done.Error
}

func (r *rekeying) servers() error {
	var rows []models.Server
	if err := r.tx.Clauses(models.LockRow(r.tx)...).Find(&rows).Error; err != nil {
		return err
	}
	for _, row := range rows {
		if err := r.column(&models.Server{}, "id", row.ID, "auth_bearer", row.AuthBearer, projects.BearerRow(row.ID)); err != nil {
			return err
		}
		if err := r.column(&models.Server{}, "id", row.ID, "o_auth_client_secret", row.OAuthClientSecret, projects.ClientSecretRow(row.ID)); err != nil {
			return err
		}
		if err := r.column(&models.Server{}, "id", row.ID, "o_auth_private_key", row.OAuthPrivateKey, projects.PrivateKeyRow(row.ID)); err != nil {
			return err
		}
		if err := r.column(&models.Server{}, "id", row.ID, "tls_key", row.TLSKey, projects.TLSKeyRow(row.ID)); err != nil {
			return err
		}
		if err := r.headers(row); err != nil {
			return err
		}
		if err := r.query(row); err != nil {
			return err
		}
	}
	return nil
}

func (r *rekeying) headers(row models.Server) error {
	changed := 0
	for name, sealed := range row.Headers {
		if !r.keys.NeedsReseal(sealed) {
			continue
		}
		next, err := r.keys.Reseal(sealed, projects.HeaderRow(row.ID, name))
		if err != nil {
			return err
		}
		row.Headers[name] = next
		changed++
	}
	if changed == 0 {
		return nil
	}
	r.resealed += changed
	return r.tx.Model(&models.Server{}).Where("id = ?", row.ID).UpdateColumn("headers", row.Headers).Error
}

func (r *rekeying) query(row models.Server) error {
	next, changed, err := projects.ResealQuery(row, r.keys)
	if err != nil || changed == 0 {
		return err
	}
	r.resealed += changed
	return r.tx.Model(&models.Server{}).Where("id = ?", row.ID).UpdateColumn("url_secrets", next).Error
}

func (r *rekeying) connections() error {
	n, err := accounts.Reseal(r.tx, r.keys)
	r.resealed += n
	return err
}

func (r *rekeying) registrations() error {
	var rows []models.ConnectionRegistration
	if err := r.tx.Find(&rows).Error; err != nil {
		return err
	}
	for _, row := range rows {
		err := r.column(&models.ConnectionRegistration{}, "id", row.ID, "client_secret", row.ClientSecret, oauthclient.RegistrationSecretRow(row.ID))
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *rekeying) authenticatorApps() error {
	var rows []models.AuthenticatorApp
	if err := r.tx.Find(&rows).Error; err != nil {
		return err
	}
	for _, row := range rows {
		if err := r.column(&models.AuthenticatorApp{}, "id", row.ID, "secret", row.Secret, factors.AppRow(row.ID)); err != nil {
			return err
		}
	}
	return nil
}

func (r *rekeying) artifacts() error {
	n, err := r.stored.Reseal(r.tx)
	r.resealed += n
	return err
}

func (r *rekeying) destinations() error {
	var rows []models.Destination
	if err := r.tx.Clauses(models.LockRow(r.tx)...).Find(&rows, "kind <> ?", models.DestinationFile).Error; err != nil {
		return err
	}
	for _, row := range rows {
		for _, c := range []struct{ column, sealed, row string }{
			{"address", row.Address, destinations.AddressRow(row.ID)},
			{"secret", row.Secret, destinations.SecretRow(row.ID)},
			{"former_secret", row.FormerSecret, destinations.FormerSecretRow(row.ID)},
		} {
			if err := r.column(&models.Destination{}, "id", row.ID, c.column, c.sealed, c.row); err != nil {
				return err
			}
		}
	}
	return nil
}
