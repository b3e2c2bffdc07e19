package upstream

// The change notifications of an upstream (MCP, "List Changed Notification" and
// "Subscriptions").
const (
	ToolsListChanged     = "notifications/tools/list_changed"
	PromptsListChanged   = "notifications/prompts/list_changed"
	ResourcesListChanged = "notifications/resources/list_changed"
	ResourceUpdated      = "notifications/resources/updated"
)

// Event is a notification that an upstream sent on its own initiative.
type Event struct {
	// Method is one of the notifications above. It is empty when a stream was
	// opened, because earlier changes may have been missed.
	Method string
	Params []byte // raw, or nil
}

// Other notifications that an upstream sends on its own initiative.
const (
	// Progress reports the progress of a call.
	Progress = "notifications/progress"
	// ElicitationComplete reports that a URL elicitation is complete (MCP
	// 2025-11-25, "Elicitation").
	ElicitationComplete = "notifications/elicitation/complete"
	// TaskStatus reports the state of a task (MCP 2025-11-25, "Tasks"), and
	// TaskChanged in the extension of 2026-07-28 (SEP-2663).
	TaskStatus  = "notifications/tasks/status"
	TaskChanged = "notifications/tasks"
)

// IsCustom reports whether a notification is neither progress nor one that the
// gateway handles itself. Such log messages and notifications that the protocol
// doesn't define are forwarded to clients.
func IsCustom(method string) bool {
	switch method {
	case Progress, ElicitationComplete, ToolsListChanged, PromptsListChanged, ResourcesListChanged, ResourceUpdated,
		"notifications/cancelled", "notifications/initialized", "notifications/roots/list_changed", TaskStatus, TaskChanged,
		"notifications/subscriptions/acknowledged":
		return false
	default:
		return true
	}
}

// LogLevels returns the log levels, least severe first (RFC 5424, with the
// names of MCP).
func LogLevels() []string {
	return []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}
}
