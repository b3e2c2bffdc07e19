package upstream

// The notifications with which an upstream says that something changed (MCP,
// "List Changed Notification" and "Subscriptions").
const (
	ToolsListChanged     = "notifications/tools/list_changed"
	PromptsListChanged   = "notifications/prompts/list_changed"
	ResourcesListChanged = "notifications/resources/list_changed"
	ResourceUpdated      = "notifications/resources/updated"
)

// Event is something that an upstream said on its own.
type Event struct {
	// Method is one of the notifications above. It is empty when a stream was
	// opened, because nothing is known of what the upstream would have said
	// before.
	Method string
	Params []byte // raw, or nil
}

// Notifications that an upstream sends on its own initiative, besides those
// above.
const (
	// Progress reports how far a call is.
	Progress = "notifications/progress"
	// ElicitationComplete reports that a URL elicitation is done (MCP
	// 2025-11-25, "Elicitation").
	ElicitationComplete = "notifications/elicitation/complete"
)

// IsCustom reports whether a notification is neither progress nor one that the
// gateway acts on itself: a log message, or one that the protocol doesn't
// define. Those belong to clients.
func IsCustom(method string) bool {
	switch method {
	case Progress, ElicitationComplete, ToolsListChanged, PromptsListChanged, ResourcesListChanged, ResourceUpdated,
		"notifications/cancelled", "notifications/initialized", "notifications/roots/list_changed", "notifications/tasks/status",
		"notifications/subscriptions/acknowledged":
		return false
	default:
		return true
	}
}

// LogLevels returns the levels of log messages, the least severe first (RFC
// 5424, as MCP names them).
func LogLevels() []string {
	return []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}
}
