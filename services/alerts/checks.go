package alerts

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/activity/traffic"
	"mcpgateway/services/fault"
)

// Server is an enabled upstream server.
type Server struct{ ID, Alias, Project string }

// Connection is an account at a server that needs a person.
type Connection struct {
	Server
	WasConnected bool
}

// History has the observations of servers. Implemented by history.Store.
type History interface {
	Servers(ctx context.Context, ids []string, since time.Time) (map[string][]models.ServerState, error)
}

// Calls has the numbers of projects. Implemented by traffic.Store.
type Calls interface {
	ProjectTotals(ctx context.Context, p traffic.Period) (map[string]traffic.Totals, error)
}

// Sources provide the data of the checks.
type Sources struct {
	DB          *gorm.DB
	Servers     func() []Server
	Connections func() []Connection
	Projects    func() map[string]string // slugs by ID
	History     History
	Calls       Calls
	// FreeSpace returns the free bytes of the database's file system. ok is false if
	// they are unknown.
	FreeSpace func() (free uint64, ok bool)
}

// Checks returns the checks of all rules.
func (s *Sources) Checks() map[string]Check {
	return map[string]Check{
		ServerDown: s.servers, ConnectionNeeded: s.connections, FailingCalls: s.failing, SlowCalls: s.slow,
		KeyExpiring: s.keys, DiskLow: s.disk, OutboxStuck: s.outbox,
	}
}

// batch is the maximum number of servers in one query.
const batch = 500

// servers finds servers that are down. A server without a recent observation keeps
// its alert.
func (s *Sources) servers(ctx context.Context, _ *Rule, now time.Time) ([]Finding, error) {
	var findings []Finding
	for all := s.Servers(); len(all) > 0; all = all[min(batch, len(all)):] {
		part := all[:min(batch, len(all))]
		ids := make([]string, len(part))
		for i, server := range part {
			ids[i] = server.ID
		}
		seen, err := s.History.Servers(ctx, ids, now)
		if err != nil {
			return nil, err
		}
		for _, server := range part {
			if f, bad := serverFinding(server, seen[server.ID]); bad {
				findings = append(findings, f)
			}
		}
	}
	return findings, nil
}

// serverFinding returns the finding of a server with its observations, oldest
// first.
func serverFinding(server Server, rows []models.ServerState) (Finding, bool) {
	f := Finding{Subject: server.ID, Project: server.Project, Object: server.Alias, Level: Between}
	if len(rows) == 0 {
		return f, true
	}
	last := rows[len(rows)-1]
	if last.State != models.ServerDown {
		return f, false
	}
	for i := len(rows) - 1; i >= 0 && rows[i].State == models.ServerDown; i-- {
		f.Since = rows[i].At
	}
	f.Level, f.Detail = Bad, "The server doesn't respond."
	if last.Cause != "" {
		f.Detail = "The server doesn't respond: " + last.Cause + "."
	}
	return f, true
}

func (s *Sources) connections(context.Context, *Rule, time.Time) ([]Finding, error) {
	var findings []Finding
	for _, c := range s.Connections() {
		detail := "An administrator must connect the gateway's account."
		if c.WasConnected {
			detail = "An administrator must reconnect the gateway's account."
		}
		findings = append(findings, Finding{Subject: c.ID, Project: c.Project, Object: c.Alias, Detail: detail, Level: Bad})
	}
	return findings, nil
}

// totals returns the calls of the last Window by project ID.
func (s *Sources) totals(ctx context.Context, now time.Time) (map[string]traffic.Totals, error) {
	to := now.UTC().Truncate(time.Second)
	return s.Calls.ProjectTotals(ctx, traffic.Period{From: to.Add(-Window), To: to, Step: Window})
}

// failing finds projects whose share of failed calls is above the threshold. An
// alert ends at four fifths of it.
func (s *Sources) failing(ctx context.Context, rule *Rule, now time.Time) ([]Finding, error) {
	return s.projects(ctx, rule, now, func(t traffic.Totals) (Level, string) {
		limit := rule.Of("percent") * t.Calls
		detail := fmt.Sprintf("%d of %d calls failed within 10 minutes.", t.Failed, t.Calls)
		return above(100*t.Failed > limit, 500*t.Failed > 4*limit), detail
	})
}

// slow finds projects whose 95th percentile is above the threshold. An alert ends
// at four fifths of it.
func (s *Sources) slow(ctx context.Context, rule *Rule, now time.Time) ([]Finding, error) {
	limit := time.Duration(rule.Of("milliseconds")) * time.Millisecond
	return s.projects(ctx, rule, now, func(t traffic.Totals) (Level, string) {
		detail := fmt.Sprintf("The 95th percentile of %d calls is %d ms.", t.Calls, t.P95.Milliseconds())
		return above(t.P95 > limit, 5*t.P95 > 4*limit), detail
	})
}

// projects finds projects with enough calls.
func (s *Sources) projects(ctx context.Context, rule *Rule, now time.Time, level func(traffic.Totals) (Level, string)) ([]Finding, error) {
	totals, err := s.totals(ctx, now)
	if err != nil {
		return nil, err
	}
	var findings []Finding
	slugs := s.Projects()
	for id, t := range totals {
		slug, known := slugs[id]
		if !known || t.Calls < rule.Of("calls") {
			continue
		}
		if l, detail := level(t); l != Clear {
			findings = append(findings, Finding{Subject: id, Project: slug, Object: slug, Detail: detail, Level: l})
		}
	}
	return findings, nil
}

// above returns the level of a value: over its threshold, near it, or neither.
func above(over, near bool) Level {
	switch {
	case over:
		return Bad
	case near:
		return Between
	}
	return Clear
}

// keys finds keys near the end of their lifetime. The end of a replaced key is
// earlier than its lifetime, and its owner has the new one.
func (s *Sources) keys(ctx context.Context, rule *Rule, now time.Time) ([]Finding, error) {
	ahead := time.Duration(rule.Of("days")) * 24 * time.Hour
	var rows []models.Key
	err := s.DB.WithContext(ctx).Where("revoked_at IS NULL AND expires_at > ? AND expires_at <= ? AND lifetime_ms > ?", now, now.Add(ahead), ahead.Milliseconds()).
		Order("expires_at, id").Limit(maxFindings).Find(&rows).Error
	if err != nil {
		return nil, fault.Internal(err)
	}
	slugs := s.Projects()
	var findings []Finding
	for _, key := range rows {
		slug, known := slugs[key.ProjectID]
		if end := key.CreatedAt.Add(time.Duration(key.LifetimeMS) * time.Millisecond); !known || key.ExpiresAt.Before(end.Add(-time.Second)) {
			continue
		}
		findings = append(findings, Finding{
			Subject: key.ID, Project: slug, Object: key.Name, Detail: "The key expires on " + key.ExpiresAt.UTC().Format("2 January 2006 at 15:04 MST") + ".", Level: Bad,
		})
	}
	return findings, nil
}

// disk finds a file system with little free space. An alert ends with a tenth more.
func (s *Sources) disk(_ context.Context, rule *Rule, _ time.Time) ([]Finding, error) {
	free, ok := s.FreeSpace()
	if !ok {
		return nil, nil
	}
	limit := uint64(rule.Of("mebibytes")) << 20
	l := above(free < limit, 10*free < 11*limit)
	if l == Clear {
		return nil, nil
	}
	return []Finding{{Subject: "database", Object: "Database", Detail: fmt.Sprintf("%d MiB are free on the database's file system.", free>>20), Level: l}}, nil
}

// outbox finds destinations with an event that waits for too long.
func (s *Sources) outbox(ctx context.Context, rule *Rule, now time.Time) ([]Finding, error) {
	var destinations []models.Destination
	db := s.DB.WithContext(ctx)
	if err := db.Where("active = ?", true).Order("id").Limit(maxFindings).Find(&destinations).Error; err != nil {
		return nil, fault.Internal(err)
	}
	var findings []Finding
	for _, d := range destinations {
		var waiting []models.OutboxEvent
		if err := db.Select("seq", "at").Where("seq > ?", d.Position).Order("seq").Limit(1).Find(&waiting).Error; err != nil {
			return nil, fault.Internal(err)
		}
		if len(waiting) == 0 || now.Sub(waiting[0].At) < time.Duration(rule.Of("minutes"))*time.Minute {
			continue
		}
		findings = append(findings, Finding{Subject: d.ID, Object: d.Name, Detail: "An event has been waiting since " + waiting[0].At.UTC().Format("2006-01-02 15:04 MST") + ".", Level: Bad})
	}
	return findings, nil
}
