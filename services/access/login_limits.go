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

// Maximum attempts to sign in within LoginWindow. All replicas share the
// counts, and a success removes its attempt. The limit per account is high, so
// that failures from a few addresses don't lock the user out.
const (
	LoginWindow = 15 * time.Minute

	MaxLoginsPerAddress  = 30  // to any account
	MaxLoginsPerPair     = 10  // to one account from one address
	MaxLoginsPerAccount  = 100 // to one account from all addresses
	MaxLoginsPerDevice   = 10  // to one account in a browser that signed in to it before
	MaxStepUpsPerSession = 10
)

// tooManyAttempts is the reason recorded in the audit log.
const tooManyAttempts = "too many attempts"

// loginLimit is one of the limits that apply to an attempt.
type loginLimit struct {
	subject string
	max     int64
	// A success deletes the count if restarts is set, and otherwise decrements
	// it.
	restarts bool
}

// loginLimits returns the limits of a sign-in attempt. The account's limit is
// last, so that attempts rejected by the others don't count for it. A browser
// with an earlier sign-in to the account has a separate limit.
func (p *Users) loginLimits(email string, from Browser) []loginLimit {
	if d, known := p.knownDevice(from.Device, email); known {
		return []loginLimit{{subject: "device:" + d.ID, max: MaxLoginsPerDevice, restarts: true}}
	}
	return []loginLimit{
		addressLimit(from.IP),
		{subject: pairSubject(email, from.IP), max: MaxLoginsPerPair, restarts: true},
		{subject: accountSubject(email), max: MaxLoginsPerAccount},
	}
}

func addressLimit(ip string) loginLimit {
	return loginLimit{subject: addressSubject(ip), max: MaxLoginsPerAddress}
}

// stepUpLimit returns the limit of wrong passwords in a session. Attempts
// elsewhere don't count for it.
func stepUpLimit(sessionID string) loginLimit {
	return loginLimit{subject: "session:" + sessionID, max: MaxStepUpsPerSession, restarts: true}
}

// accountSubject returns the limit key of an account. It is a hash, because
// users type passwords into the wrong field.
func accountSubject(email string) string {
	sum := sha256.Sum256([]byte(foldEmail(email)))
	return "account:" + hex.EncodeToString(sum[:])
}

// pairSubject returns the limit key of an account and a network.
func pairSubject(email, ip string) string {
	sum := sha256.Sum256([]byte(accountSubject(email) + " " + addressSubject(ip)))
	return "pair:" + hex.EncodeToString(sum[:])
}

// addressSubject returns the limit key of an address's network: the /64 for
// IPv6, which is assigned to one customer.
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

// countLogins counts an attempt under each limit in order and stops at the
// first exceeded one. Then it returns RATE_LIMITED, and first reports whether
// this is the first attempt over that limit.
func (p *Users) countLogins(ctx context.Context, limits ...loginLimit) (first bool, err error) {
	for _, limit := range limits {
		if first, err := p.countLogin(ctx, limit); err != nil {
			return first, err
		}
	}
	return false, nil
}

// countLogin counts an attempt before it is made, so that concurrent attempts
// can't exceed the limit. Over the limit, it returns RATE_LIMITED with the time
// to wait, and first reports whether this is the first such attempt.
func (p *Users) countLogin(ctx context.Context, limit loginLimit) (first bool, err error) {
	now := p.now()
	expired := now.Add(-LoginWindow)
	var row models.LoginLimit
	err = p.db.WithContext(ctx).Raw(`INSERT INTO login_limits (subject, started_at, attempts) VALUES (?, ?, 1)
		ON CONFLICT (subject) DO UPDATE SET
			attempts = CASE WHEN login_limits.started_at <= ? THEN 1 ELSE login_limits.attempts + 1 END,
			started_at = CASE WHEN login_limits.started_at <= ? THEN excluded.started_at ELSE login_limits.started_at END
		RETURNING subject, started_at, attempts`, limit.subject, now, expired, expired).Scan(&row).Error
	if err != nil {
		return false, fault.Internal(err)
	}
	if row.Attempts <= limit.max {
		return false, nil
	}
	f := fault.New(fault.KindRateLimited, fault.CodeRateLimited, "Too many sign-in attempts. Wait a few minutes and try again.")
	f.RetryAfter = max(row.StartedAt.Add(LoginWindow).Sub(now), time.Second)
	return row.Attempts == limit.max+1, f
}

// forgiveLogins removes a successful attempt from the counts.
func forgiveLogins(tx *gorm.DB, limits ...loginLimit) error {
	for _, limit := range limits {
		rows := tx.Model(&models.LoginLimit{}).Where("subject = ?", limit.subject)
		var err error
		if limit.restarts {
			err = rows.Delete(&models.LoginLimit{}).Error
		} else {
			err = rows.Where("attempts > 0").Update("attempts", gorm.Expr("attempts - 1")).Error
		}
		if err != nil {
			return err
		}
	}
	return nil
}
