package gateway

import (
	"context"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/artifacts"
)

// codeArtifacts implements codemode.Artifacts for one run. Each use counts against
// the client's rate limit.
type codeArtifacts struct {
	gateway *Gateway
	client  *Client
}

// owner returns the owner of the values. It returns UNAUTHORIZED for a client that
// is no longer admitted, RATE_LIMITED, and FORBIDDEN for anonymous clients.
func (c *codeArtifacts) owner() (artifacts.Owner, error) {
	project, err := c.gateway.Views.Current(c.client.Principal)
	if err != nil {
		return artifacts.Owner{}, err
	}
	if err := c.gateway.Limits.Allow(&project.Project, c.client.Principal, 1); err != nil {
		return artifacts.Owner{}, err
	}
	return artifacts.OwnerOf(c.client.Principal)
}

// Store implements codemode.Artifacts.
func (c *codeArtifacts) Store(ctx context.Context, name string, isText bool, data []byte) (time.Time, error) {
	owner, err := c.owner()
	if err != nil {
		return time.Time{}, err
	}
	kind := models.ArtifactJSON
	if isText {
		kind = models.ArtifactText
	}
	return c.gateway.Artifacts.Put(ctx, owner, name, kind, data)
}

// Load implements codemode.Artifacts.
func (c *codeArtifacts) Load(ctx context.Context, name string) (data []byte, isText bool, err error) {
	owner, err := c.owner()
	if err != nil {
		return nil, false, err
	}
	stored, err := c.gateway.Artifacts.Get(ctx, owner, name)
	if err != nil {
		return nil, false, err
	}
	return stored.Data, stored.Kind == models.ArtifactText, nil
}
