package oauthserver

import (
	"context"
	"net/netip"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/fault"
)

// window is the period in which uses are counted.
const window = time.Hour

// count counts a use by the subject in one statement, across all replicas.
// Beyond limit uses per hour it returns RATE_LIMITED with the time to wait.
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
	f := fault.New(fault.KindRateLimited, fault.CodeRateLimited, "Too many requests within an hour. Retry later.")
	f.RetryAfter = max(row.StartedAt.Add(window).Sub(now), time.Second)
	return f
}

// networkLimit is the maximum number of registrations of a network per hour.
type networkLimit struct {
	name  string
	limit int64
}

// registrationNetworks returns the networks of an address, narrowest first. An
// IPv6 customer has at least a /64, and often a /56 or /48.
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
