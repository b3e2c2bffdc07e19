package gateway

import (
	"strings"

	"mcpgateway/services/access/quotas"
	"mcpgateway/services/toolset"
)

// Quotas count calls of upstream tools. Allow returns a fault if a limit of the
// project is exhausted. Implemented by quotas.Quotas.
type Quotas interface {
	Allow(call quotas.Call) error
}

// charge counts a call of an upstream tool against the limits of its project.
// Every call passes it, after its tool was found in the caller's view and
// before anything is sent. It returns RATE_LIMITED with the time to wait.
func (g *Gateway) charge(project *toolset.Snapshot, client *Client, tool *toolset.Tool) error {
	if g.Quotas == nil || len(project.Project.Limits) == 0 {
		return nil
	}
	call := quotas.Call{Project: &project.Project, Tool: tool.FullName}
	if id := client.Principal.ID(); strings.HasPrefix(id, "key:") {
		call.Key = id
	} else if person, ok := strings.CutPrefix(id, "user:"); ok {
		call.Person = person
	}
	return g.Quotas.Allow(call)
}
