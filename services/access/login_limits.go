package access

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/netip"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/fault"
)

// How often somebody may try to sign in. The counts hold over all replicas; a
// success gives the attempt back.
const (
	MaxLoginsPerAccount = 10 // in LoginWindow
	MaxLoginsPerAddress = 30 // in LoginWindow
	LoginWindow         = 15 * time.Minute
)

// accountSubject names an account in the limits. It is a hash, because people
// type passwords into the wrong field.
func accountSubject(email string) string {
	sum := sha256.Sum256([]byte(foldEmail(email)))
	return "account:" + hex.EncodeToString(sum[:])
}

// addressSubject names the network of an address in the limits: for IPv6 the
// /64, which is what one customer gets.
func addressSubject(ip string) string {
	addr, err := netip.ParseAddr(ip)
	if err != nil {
		return "address:unknown"
	}
	if addr = addr.Unmap().WithZone(""); addr.Is6() {
		if p, err := addr.Prefix(64); err == nil {
			return "address:" + p.String()
		}
	}
	return "address:" + addr.String()
}

// countLogin counts an attempt before it is made, so that attempts at the
// same moment cannot pass together. It returns RATE_LIMITED with the time to
// wait when one too many was made, and whether this is the first of those.
func (p *People) countLogin(ctx context.Context, subject string, limit int64) (first bool, err error) {
	now := p.now()
	over := now.Add(-LoginWindow)
	var row models.LoginLimit
	err = p.db.WithContext(ctx).Raw(`INSERT INTO login_limits (subject, started_at, attempts) VALUES (?, ?, 1)
		ON CONFLICT (subject) DO UPDATE SET
			attempts = CASE WHEN login_limits.started_at <= ? THEN 1 ELSE login_limits.attempts + 1 END,
			started_at = CASE WHEN login_limits.started_at <= ? THEN excluded.started_at ELSE login_limits.started_at END
		RETURNING subject, started_at, attempts`, subject, now, over, over).Scan(&row).Error
	if err != nil {
		return false, fault.Internal(err)
	}
	if row.Attempts <= limit {
		return false, nil
	}
	f := fault.New(fault.KindRateLimited, fault.CodeRateLimited, "too many attempts to sign in: wait a while and try again")
	f.RetryAfter = max(row.StartedAt.Add(LoginWindow).Sub(now), time.Second)
	return row.Attempts == limit+1, f
}

// forgiveLogin takes a success back out of the counts: the account begins
// anew, and the address gets its attempt back.
func forgiveLogin(tx *gorm.DB, email, ip string) error {
	if err := tx.Delete(&models.LoginLimit{}, "subject = ?", accountSubject(email)).Error; err != nil {
		return err
	}
	return forgiveAddress(tx, ip)
}

func forgiveAddress(tx *gorm.DB, ip string) error {
	return tx.Model(&models.LoginLimit{}).Where("subject = ? AND attempts > 0", addressSubject(ip)).Update("attempts", gorm.Expr("attempts - 1")).Error
}
