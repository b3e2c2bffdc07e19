package gateway

import (
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
	if len(project.Project.Limits) == 0 || g.Quotas == nil {
		return nil
	}
	call := quotas.Call{
		Project: &project.Project, Person: client.Principal.UserID(), Toolsets: project.ToolsetsOf(tool), Tool: tool.FullName,
	}
	if client.Principal.IsKey() {
		call.Key = client.Principal.ID()
	}
	return g.Quotas.Allow(call)
}
