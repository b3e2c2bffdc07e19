package services

import (
	"context"

	"mcpgateway/models"
	"mcpgateway/services/locks"
	"mcpgateway/services/oauthclient"
	"mcpgateway/services/projects"
	"mcpgateway/services/secrets"
)

// connect wires the gateway's connections to upstream servers that want OAuth.
func (s *Services) connect(ctx context.Context, resolver *secrets.Resolver) (err error) {
	if s.locks, err = locks.Open(ctx, s.DB, s.Config.DatabaseURL, s.Background); err != nil {
		return err
	}
	s.ClientDocument = oauthclient.NewClientDocument(s.Config.PublicURL, nil, now)
	s.Connections = oauthclient.New(oauthclient.Settings{
		DB: s.DB, Locks: oauthclient.NewLocks(s.DB, s.locks, now), HTTP: s.clients.MCP(), Keys: s.Config.Keys, Audit: s.Audit, Feed: s.feed,
		Document: s.ClientDocument, PublicURL: s.Config.PublicURL, Now: now, Log: s.log, Tasks: s.Background,
		ClientSecret: func(server models.Server) (secrets.Value, error) {
			return resolver.Resolve(server.OAuthClientSecret, projects.ClientSecretRow(server.ID))
		},
		Address: func(server models.Server) (string, error) { return projects.Address(server, resolver.Resolve) },
	})
	s.Waiting = oauthclient.NewWaiting(s.Connections)
	return nil
}
