package destinations

import (
	"context"
	"strconv"
	"strings"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/outbox"
	"mcpgateway/services/outbox/signing"
	"mcpgateway/services/secrets"
)

// Change is a change of a destination. nil fields stay.
type Change struct {
	Name    *string
	Address *secrets.Value
	Secret  *secrets.Value // of an OTLP destination; Rotate changes that of a webhook
	Filter  *string
	Active  *bool
}

// Update changes a destination and audits it as destination.updated. Turning it on
// skips the events raised while it was off; the dead letters stay. Faults:
// NOT_FOUND, and those of Create. The file of the operator is a CONFLICT.
func (s *Store) Update(ctx context.Context, id string, c Change) (models.Destination, error) {
	var row models.Destination
	err := s.change(ctx, func(tx *gorm.DB) (err error) {
		if row, err = s.own(tx, id); err != nil {
			return err
		}
		detail, err := s.apply(&row, c)
		if err != nil {
			return err
		}
		if err := checkName(tx, &row); err != nil {
			return err
		}
		// The position belongs to the replica that delivers, unless this changes it.
		columns := []any{"address", "secret", "filter", "next_at", "updated_at"}
		if c.Active != nil && *c.Active != row.Active {
			if err := activate(tx, &row, *c.Active); err != nil {
				return err
			}
			columns = append(columns, "active", "position", "failures", "failing_since")
			detail["active"] = strconv.FormatBool(row.Active)
		}
		if len(detail) == 0 {
			return nil
		}
		row.UpdatedAt, row.NextAt = s.Now(), nil
		if err := tx.Model(&row).Select("name", columns...).Updates(&row).Error; err != nil {
			return err
		}
		return s.record(tx, "destination.updated", &row, detail)
	})
	return row, err
}

// activate turns a destination on or off.
func activate(tx *gorm.DB, row *models.Destination, on bool) (err error) {
	row.Active, row.Failures, row.FailingSince = on, 0, nil
	if on {
		row.Position, err = outbox.Last(tx)
	}
	return err
}

// apply sets the changed settings and returns them for the audit log.
func (s *Store) apply(row *models.Destination, c Change) (map[string]string, error) {
	detail := map[string]string{}
	address, err := s.Keys.Open(row.Address, AddressRow(row.ID))
	if err != nil && c.Address == nil {
		return nil, err
	}
	secret := secrets.Value{}
	if row.Secret != "" {
		if secret, err = s.Keys.Open(row.Secret, SecretRow(row.ID)); err != nil && c.Secret == nil {
			return nil, err
		}
	}
	if c.Name != nil && strings.TrimSpace(*c.Name) != row.Name {
		row.Name = strings.TrimSpace(*c.Name)
		detail["name"] = row.Name
	}
	if c.Filter != nil && strings.TrimSpace(*c.Filter) != row.Filter {
		row.Filter = strings.TrimSpace(*c.Filter)
		detail["filter"] = row.Filter
	}
	if c.Secret != nil && row.Kind == models.DestinationWebhook {
		return nil, fault.Validation(map[string]string{"secret": "rotate it instead, so that receivers can verify with both for 24 hours"})
	}
	if c.Address != nil && c.Address.Reveal() != address.Reveal() {
		address = *c.Address
		detail["address"] = Shown(address)
	}
	if c.Secret != nil && c.Secret.Reveal() != secret.Reveal() {
		secret = *c.Secret
		detail["secret"] = "changed"
	}
	if err := s.check(row, address, secret); err != nil {
		return nil, err
	}
	if detail["address"] == "" && detail["secret"] == "" {
		return detail, nil
	}
	row.Secret = ""
	return detail, s.seal(row, address, secret)
}

// Rotate replaces the secret of a webhook by the given one, or a random one for
// the zero value, and returns it. The former one also signs for RotationTime. It
// is audited as destination.rotated. Faults: NOT_FOUND, VALIDATION_FAILED, and
// CONFLICT for other kinds.
func (s *Store) Rotate(ctx context.Context, id string, secret secrets.Value) (models.Destination, secrets.Value, error) {
	if secret.IsZero() {
		secret = signing.New()
	}
	var row models.Destination
	if err := signing.Check(secret); err != nil {
		return row, secrets.Value{}, err
	}
	err := s.change(ctx, func(tx *gorm.DB) (err error) {
		if row, err = s.own(tx, id); err != nil {
			return err
		}
		if row.Kind != models.DestinationWebhook {
			return fault.Conflict("Only webhooks have a secret to rotate. Change the address or the header instead.")
		}
		former, err := s.Keys.Open(row.Secret, SecretRow(id))
		if err != nil {
			return err
		}
		if row.FormerSecret, err = s.Keys.Seal(former, FormerSecretRow(id)); err != nil {
			return err
		}
		if row.Secret, err = s.Keys.Seal(secret, SecretRow(id)); err != nil {
			return err
		}
		until := s.Now().Add(RotationTime)
		row.FormerUntil, row.UpdatedAt = &until, s.Now()
		if err := tx.Model(&row).Select("secret", "former_secret", "former_until", "updated_at").Updates(&row).Error; err != nil {
			return err
		}
		return s.record(tx, "destination.rotated", &row, nil)
	})
	return row, secret, err
}

// UseFile sets the destination of the operator's file, or turns it off if path is
// empty. It returns a database error as an INTERNAL fault.
func (s *Store) UseFile(ctx context.Context, path string) error {
	return s.change(ctx, func(tx *gorm.DB) error {
		var rows []models.Destination
		if err := tx.Find(&rows, "id = ?", FileID).Error; err != nil {
			return err
		}
		switch {
		case len(rows) == 0 && path == "":
			return nil
		case len(rows) == 0:
			last, err := outbox.Last(tx)
			if err != nil {
				return err
			}
			return tx.Create(&models.Destination{
				ID: FileID, Name: "GATEWAY_OUTBOX_FILE", Kind: models.DestinationFile, Address: path, Active: true, Position: last, CreatedAt: s.Now(), UpdatedAt: s.Now(),
			}).Error
		}
		row := rows[0]
		columns := []any{"next_at"}
		if on := path != ""; on != row.Active {
			columns = append(columns, "active", "position", "failures", "failing_since")
			if err := activate(tx, &row, on); err != nil {
				return err
			}
		}
		row.Address, row.NextAt = path, nil
		return tx.Model(&row).Select("address", columns...).Updates(&row).Error
	})
}
