package health

import (
	"context"
	"errors"
	"net/http"

	"mcpgateway/models"
	"mcpgateway/services/catalog/sources"
	"mcpgateway/services/fault"
	"mcpgateway/services/upstream"
)

// found is the result of a probe.
type found struct {
	state    models.CheckState
	revision string
	message  string
	tools    models.CheckedTools
}

// probe connects to a server and lists its tools. The target has no
// credentials, so it finds only what everyone can see. The error is that of the
// context; the failure of a server is a result.
func (c *Checker) probe(ctx context.Context, entry *models.CatalogEntry) (found, error) {
	t := c.target(entry)
	defer c.Client.Drop(t.ServerID)
	about, err := c.Client.Describe(ctx, t)
	if err != nil {
		return failed(ctx, err)
	}
	definitions, _, _, err := c.Client.ListTools(ctx, t)
	if err != nil {
		// The handshake succeeded, so the server works.
		f, err := failed(ctx, err)
		if f.state == models.CheckFailed {
			f.state = models.CheckReachable
		}
		f.revision = about.ProtocolVersion
		return f, err
	}
	return found{state: models.CheckReachable, revision: about.ProtocolVersion, tools: toolsOf(definitions)}, nil
}

func (c *Checker) target(entry *models.CatalogEntry) *upstream.Target {
	transport := models.TransportAuto
	if entry.ServerType == "sse" {
		transport = models.TransportSSE
	}
	return &upstream.Target{
		ServerID: entry.ID, Alias: entry.ServerTitle, URL: entry.RemoteURL, Transport: transport, Timeout: c.Timeout,
		ProtocolVersion: models.ProtocolAuto, SessionMode: models.SessionShared,
	}
}

// failed returns the result of a failed request. HTTP 401 means that the server
// works and requires authentication.
func failed(ctx context.Context, err error) (found, error) {
	if ctx.Err() != nil {
		return found{}, ctx.Err()
	}
	var challenge *upstream.Challenge
	if errors.As(err, &challenge) && challenge.Status == http.StatusUnauthorized {
		return found{state: models.CheckSignIn}, nil
	}
	return found{state: models.CheckFailed, message: sources.Clean(fault.From(err).Message, maxMessage)}, nil
}
