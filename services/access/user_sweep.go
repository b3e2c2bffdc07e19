package access

import (
	"context"

	"mcpgateway/models"
	"mcpgateway/services/access/attempts"
	"mcpgateway/services/fault"
)

// Sweep deletes rows without further effect: sessions that were revoked or
// expired more than SessionMemory ago, links that expired more than LinkMemory ago,
// and expired setup tokens, sign-ins, stored forms and attempt counts. It is safe to run in several processes at
// once.
func (p *Users) Sweep(ctx context.Context) error {
	now := p.now()
	db := p.db.WithContext(ctx)
	for _, err := range []error{
		db.Delete(&models.BrowserSession{}, "revoked_at IS NOT NULL OR created_at <= ? OR last_seen_at <= ?", now.Add(-SessionLifetime-SessionMemory), now.Add(-SessionIdle-SessionMemory)).Error,
		db.Delete(&models.SetupToken{}, "expires_at <= ?", now).Error,
		db.Delete(&models.Invite{}, "expires_at <= ?", now.Add(-LinkMemory)).Error,
		db.Delete(&models.KeptForm{}, "expires_at <= ?", now).Error,
		db.Delete(&models.SpentSignIn{}, "expires_at <= ?", now).Error,
		db.Delete(&models.LoginLimit{}, "started_at <= ?", now.Add(-attempts.Window)).Error,
	} {
		if err != nil {
			return fault.Internal(err)
		}
	}
	return nil
}
