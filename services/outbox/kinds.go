package outbox

// The kinds of events. The kind of an audit entry's event is its action.
const (
	AlertFired         = "alert.fired"
	AlertResolved      = "alert.resolved"
	AuditChainBroken   = "audit.chain_broken"
	ConnectionRestored = "connection.restored"
	ReconnectNeeded    = "connection.reconnect_needed"
	KeyExpired         = "key.expired"
	KeyExpiring        = "key.expiring"
	QuotaExceeded      = "quota.exceeded"
	ServerDown         = "server.down"
	ServerUp           = "server.up"
	DefinitionChanged  = "tool.definition_changed"
	Test               = "destination.test" // of "Send a test event"
)
