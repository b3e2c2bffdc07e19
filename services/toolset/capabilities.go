package toolset

import (
	"mcpgateway/services/capabilities"
	"mcpgateway/services/rawjson"
)

// Capabilities are the capabilities besides tools that at least one enabled
// server of a project has.
type Capabilities struct {
	Prompts, Resources, Subscribe, Completions, Logging bool

	// Tasks is the capability of MCP 2025-11-25 to run tools as tasks, and
	// TaskExtension that of 2026-07-28 (SEP-2663).
	Tasks, TaskExtension bool

	// Skills is the extension for skills (SEP-2640), and Directories its option to
	// list directories.
	Skills, Directories bool
}

// capabilitiesOf returns the declared capabilities of an enabled server.
func capabilitiesOf(server *Server) (c Capabilities) {
	if !server.Config.IsOffered() || server.Inventory == nil || server.Inventory.Capabilities == "" {
		return c
	}
	o, err := rawjson.ParseObject([]byte(server.Inventory.Capabilities), rawjson.Lenient)
	if err != nil {
		return c
	}
	c.Prompts, c.Completions, c.Logging = o.Get("prompts") != nil, o.Get("completions") != nil, o.Get("logging") != nil
	if resources := o.Object("resources"); resources != nil {
		c.Resources, c.Subscribe = true, string(resources.Get("subscribe")) == "true"
		if skills := o.Object("extensions").Object(capabilities.Skills); skills != nil {
			c.Skills, c.Directories = true, string(skills.Get("directoryRead")) == "true"
		}
	}
	if server.Inventory.ProtocolVersion >= statelessVersion {
		c.TaskExtension = rawjson.Kind(o.Object("extensions").Get(taskExtension)) == '{'
	} else {
		c.Tasks = o.Object("tasks").Object("requests").Object("tools").Get("call") != nil
	}
	return c
}

// The revision since which servers have no sessions, and the tasks extension.
const (
	statelessVersion = "2026-07-28"
	taskExtension    = "io.modelcontextprotocol/tasks"
)

// and returns what either of both is.
func (c Capabilities) and(other Capabilities) Capabilities {
	return Capabilities{
		Prompts: c.Prompts || other.Prompts, Resources: c.Resources || other.Resources, Subscribe: c.Subscribe || other.Subscribe,
		Completions: c.Completions || other.Completions, Logging: c.Logging || other.Logging,
		Tasks: c.Tasks || other.Tasks, TaskExtension: c.TaskExtension || other.TaskExtension,
		Skills: c.Skills || other.Skills, Directories: c.Directories || other.Directories,
	}
}
