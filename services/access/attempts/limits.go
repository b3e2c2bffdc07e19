// Package attempts limits attempts to sign in, over all replicas. A browser with
// an earlier sign-in has its own limit, so that failures elsewhere don't
// lock the user out. Email addresses are given in their folded form.
package attempts

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

// Maximum attempts to sign in within Window. All replicas share the counts, and
// a success removes its attempt. The limit per account is high, so that failures
// from a few addresses don't lock the user out.
const (
	Window = 15 * time.Minute

	MaxPerAddress        = 30  // to any account
	MaxPerPair           = 10  // to one account from one address
	MaxPerAccount        = 100 // to one account from all addresses
	MaxPerDevice         = 10  // to one account in a browser that signed in to it before
	MaxStepUpsPerSession = 10
	MaxLinksPerUser      = 10 // links to set a password, created by administrators
)

// Maximum codes of a second factor, wrong ones included, within Window. A correct
// code restarts the count.
const (
	MaxCodesPerAccount = 10
	MaxCodesPerDevice  = 10 // in a browser that signed in to the account before
)

// Sealer seals the cookies of known browsers.
type Sealer interface {
	SealToken(purpose string, plain []byte) string
	OpenToken(purpose, token string) ([]byte, error)
}

// Counter counts attempts. It is safe for concurrent use.
type Counter struct {
	db     *gorm.DB
	sealer Sealer
	now    func() time.Time
}

// New returns the Counter of the database.
func New(db *gorm.DB, sealer Sealer, now func() time.Time) *Counter {
	return &Counter{db: db, sealer: sealer, now: now}
}

// Limit is one of the limits that apply to an attempt.
type Limit struct {
	subject string
	max     int64
	// A success deletes the count if restarts is set, and otherwise decrements
	// it.
	restarts bool
}

// OfSignIn returns the limits of a sign-in with a password from an address and a
// browser with a device cookie, which may be empty. The account's limit is last,
// so that attempts rejected by the others don't count for it. A browser with an
// earlier sign-in to the account has a separate limit.
func (c *Counter) OfSignIn(email, ip, cookie string) []Limit {
	if d, known := c.knownDevice(cookie, email); known {
		return []Limit{{subject: "device:" + d.ID, max: MaxPerDevice, restarts: true}}
	}
	return []Limit{
		OfAddress(ip),
		{subject: pairSubject(email, ip), max: MaxPerPair, restarts: true},
		{subject: accountSubject(email), max: MaxPerAccount},
	}
}

// OfCode returns the limit of codes of a second factor. They are limited by
// account, because they are short. A browser with an earlier sign-in to the
// account has a separate limit.
func (c *Counter) OfCode(email, cookie string) Limit {
	if d, known := c.knownDevice(cookie, email); known {
		return Limit{subject: "codes of device:" + d.ID, max: MaxCodesPerDevice, restarts: true}
	}
	return Limit{subject: "codes of " + accountSubject(email), max: MaxCodesPerAccount, restarts: true}
}

// OfAddress returns the limit of attempts from an address.
func OfAddress(ip string) Limit { return Limit{subject: addressSubject(ip), max: MaxPerAddress} }

// OfStepUp returns the limit of wrong passwords in a session. Attempts elsewhere
// don't count for it.
func OfStepUp(sessionID string) Limit {
	return Limit{subject: "session:" + sessionID, max: MaxStepUpsPerSession, restarts: true}
}

// OfLinks returns the limit of new links to set the password of a user.
func OfLinks(userID string) Limit {
	return Limit{subject: "links:" + userID, max: MaxLinksPerUser}
}

// accountSubject returns the limit key of an account. It is a hash, because
// users type passwords into the wrong field.
func accountSubject(email string) string {
	sum := sha256.Sum256([]byte(email))
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

// Count counts an attempt under each limit in order and stops at the
// first exceeded one. Then it returns RATE_LIMITED, and first reports whether
// this is the first attempt over that limit.
func (c *Counter) Count(ctx context.Context, limits ...Limit) (first bool, err error) {
	for _, limit := range limits {
		if first, err := c.count(ctx, limit); err != nil {
			return first, err
		}
	}
	return false, nil
}

// count counts an attempt before it is made, so that concurrent attempts
// can't exceed the limit. Over the limit, it returns RATE_LIMITED with the time
// to wait, and first reports whether this is the first such attempt.
func (c *Counter) count(ctx context.Context, limit Limit) (first bool, err error) {
	now := c.now()
	expired := now.Add(-Window)
	var row models.LoginLimit
	err = c.db.WithContext(ctx).Raw(`INSERT INTO login_limits (subject, started_at, attempts) VALUES (?, ?, 1)
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
	f.RetryAfter = max(row.StartedAt.Add(Window).Sub(now), time.Second)
	return row.Attempts == limit.max+1, f
}

// Reset removes a successful attempt from the counts.
func Reset(tx *gorm.DB, limits ...Limit) error {
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
