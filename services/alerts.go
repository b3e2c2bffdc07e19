package services

import (
	"context"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/alerts"
	"mcpgateway/services/mail/trial"
)

// wireAlerts creates the alerts and their checks.
func (s *Services) wireAlerts(now func() time.Time) {
	s.Alerts = alerts.NewStore(s.DB, s.Audit, s.feed, now)
	s.TestMail = trial.New(s.DB, s.Mail, s.Audit, s.Config.PublicURL.String())
	s.FiringAlerts = alerts.NewCurrent(s.Alerts)
	sources := &alerts.Sources{
		DB: s.DB, Servers: s.alertServers, Connections: s.alertConnections, Projects: s.projectSlugs, History: s.History, Calls: s.Traffic,
		FreeSpace: func() (uint64, bool) { return models.FreeSpace(s.DB) },
	}
	s.alerts = alerts.NewEvaluator(alerts.EvaluatorOptions{
		Store: s.Alerts, Checks: sources.Checks(), Events: s.Events, Log: s.log,
		Mail: alerts.NewAnnouncer(s.Alerts, s.Mail, s.alertRecipients, s.Config.PublicURL.JoinPath("admin", "alerts").String()),
	})
}

// EvaluateAlerts evaluates the rules once, as one replica does periodically.
func (s *Services) EvaluateAlerts(ctx context.Context) error { return s.alerts.Evaluate(ctx) }

// alertServers returns the enabled servers of all projects.
func (s *Services) alertServers() []alerts.Server {
	var all []alerts.Server
	for _, p := range s.Directory.All() {
		for _, server := range p.Servers {
			if server.Config.Enabled {
				all = append(all, alerts.Server{ID: server.Config.ID, Alias: server.Config.Alias, Project: p.Project.Slug})
			}
		}
	}
	return all
}

// alertConnections returns the servers whose shared account needs a person.
func (s *Services) alertConnections() []alerts.Connection {
	var all []alerts.Connection
	for _, server := range s.alertServers() {
		if waits, before := s.Waiting.Connection(server.ID); waits {
			all = append(all, alerts.Connection{Server: server, WasConnected: before})
		}
	}
	return all
}

func (s *Services) projectSlugs() map[string]string {
	slugs := map[string]string{}
	for _, p := range s.Directory.All() {
		slugs[p.Project.ID] = p.Project.Slug
	}
	return slugs
}

// alertRecipients returns the configured addresses, or those of all administrators
// who may sign in.
func (s *Services) alertRecipients(ctx context.Context) ([]string, error) {
	if len(s.Config.AlertEmail) > 0 {
		return s.Config.AlertEmail, nil
	}
	users, err := s.People.List(ctx)
	if err != nil {
		return nil, err
	}
	var to []string
	for _, u := range users {
		if u.EffectiveRole == models.RoleAdmin && u.DisabledAt == nil && u.Email != "" && (u.HasPassword || u.HasIdentity) {
			to = append(to, u.Email)
		}
	}
	return to, nil
}
