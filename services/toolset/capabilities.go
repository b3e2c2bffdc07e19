package toolset

import "mcpgateway/services/rawjson"

// Capabilities are what at least one enabled server of a project offers
// besides tools.
type Capabilities struct {
	Prompts, Resources, Subscribe, Completions, Logging bool
}

func capabilitiesOf(servers []*Server) Capabilities {
	var c Capabilities
	for _, server := range servers {
		if !server.Config.Enabled || server.Inventory == nil || server.Inventory.Capabilities == "" {
			continue
		}
		o, err := rawjson.ParseObject([]byte(server.Inventory.Capabilities), rawjson.Lenient)
		if err != nil {
			continue
		}
		c.Prompts = c.Prompts || o.Get("prompts") != nil
		c.Completions = c.Completions || o.Get("completions") != nil
		c.Logging = c.Logging || o.Get("logging") != nil
		if resources := o.Object("resources"); resources != nil {
			c.Resources = true
			c.Subscribe = c.Subscribe || string(resources.Get("subscribe")) == "true"
		}
	}
	return c
}
