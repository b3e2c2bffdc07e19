package oauthserver

import (
	"context"
	"net/netip"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/fault"
)

// window is the time over which uses are counted.
const window = time.Hour

// count counts one more use by the subject, in one statement that holds over
// all replicas. Beyond limit uses in an hour it returns RATE_LIMITED with the
// time to wait.
func (s *Server) count(ctx context.Context, subject string, limit int64) error {
	now := s.now()
	over := now.Add(-window)
	var row models.OAuthLimit
	err := s.db.WithContext(ctx).Raw(`INSERT INTO oauth_limits (subject, started_at, uses) VALUES (?, ?, 1)
		ON CONFLICT (subject) DO UPDATE SET
			uses = CASE WHEN oauth_limits.started_at <= ? THEN 1 ELSE oauth_limits.uses + 1 END,
			started_at = CASE WHEN oauth_limits.started_at <= ? THEN excluded.started_at ELSE oauth_limits.started_at END
		RETURNING subject, started_at, uses`, subject, now, over, over).Scan(&row).Error
	if err != nil {
		return fault.Internal(err)
	}
	if row.Uses <= limit {
		return nil
	}
	f := fault.New(fault.KindRateLimited, fault.CodeRateLimited, "too many of these requests within an hour: wait a while and try again")
	f.RetryAfter = max(row.StartedAt.Add(window).Sub(now), time.Second)
	return f
}

// networkLimit is the maximum number of registrations of a network in an hour.
type networkLimit struct {
	name  string
	limit int64
}

// registrationNetworks returns the networks of an address, the narrowest first.
// One customer has a /64 of IPv6 at least, and many have a /56 or a /48.
func registrationNetworks(ip string) []networkLimit {
	addr, err := netip.ParseAddr(ip)
	if err != nil {
		return []networkLimit{{"unknown", RegistrationsPerHour}}
	}
	addr = addr.Unmap().WithZone("")
	if !addr.Is6() {
		return []networkLimit{{addr.String(), RegistrationsPerHour}}
	}
	prefix := func(bits int) string { return netip.PrefixFrom(addr, bits).Masked().String() }
	return []networkLimit{{prefix(64), RegistrationsPerHour}, {prefix(56), RegistrationsPer56}, {prefix(48), RegistrationsPer48}}
}
