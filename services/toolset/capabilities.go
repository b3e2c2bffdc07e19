package toolset

import "mcpgateway/services/rawjson"

// Capabilities are the capabilities besides tools that at least one enabled
// server of a project has.
type Capabilities struct {
	Prompts, Resources, Subscribe, Completions, Logging bool
}

// capabilitiesOf returns the declared capabilities of an enabled server.
func capabilitiesOf(server *Server) (c Capabilities) {
	if !server.Config.Enabled || server.Inventory == nil || server.Inventory.Capabilities == "" {
		return c
	}
	o, err := rawjson.ParseObject([]byte(server.Inventory.Capabilities), rawjson.Lenient)
	if err != nil {
		return c
	}
	c.Prompts, c.Completions, c.Logging = o.Get("prompts") != nil, o.Get("completions") != nil, o.Get("logging") != nil
	if resources := o.Object("resources"); resources != nil {
		c.Resources, c.Subscribe = true, string(resources.Get("subscribe")) == "true"
	}
	return c
}

// and returns what either of both is.
func (c Capabilities) and(other Capabilities) Capabilities {
	return Capabilities{
		Prompts: c.Prompts || other.Prompts, Resources: c.Resources || other.Resources, Subscribe: c.Subscribe || other.Subscribe,
		Completions: c.Completions || other.Completions, Logging: c.Logging || other.Logging,
	}
}
