package services

import (
	"context"

	"mcpgateway/models"
	"mcpgateway/services/oauthclient"
	"mcpgateway/services/projects"
	"mcpgateway/services/secrets"
)

// connect wires the gateway's connections to upstream servers that want OAuth.
func (s *Services) connect(ctx context.Context, resolver *secrets.Resolver) (err error) {
	if s.locks, err = oauthclient.OpenLocks(ctx, s.DB, s.Config.DatabaseURL, now); err != nil {
		return err
	}
	s.ClientDocument = oauthclient.NewClientDocument(s.Config.PublicURL, nil, now)
	s.Connections = oauthclient.New(oauthclient.Settings{
		DB: s.DB, Locks: s.locks, HTTP: s.clients.MCP(), Keys: s.Config.Keys, Audit: s.Audit, Feed: s.feed,
		Document: s.ClientDocument, PublicURL: s.Config.PublicURL, Now: now, Log: s.log,
		ClientSecret: func(server models.Server) (secrets.Value, error) {
			return resolver.Resolve(server.OAuthClientSecret, projects.ClientSecretRow(server.ID))
		},
	})
	s.Waiting = oauthclient.NewWaiting(s.Connections)
	return nil
}
