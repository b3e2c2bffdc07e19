package upstream

import "mcpgateway/services/fault"

// PersonRequired returns the fault for a request without a user to a server
// that everyone uses with their own account.
func PersonRequired(alias string) *fault.Fault {
	return fault.New(fault.KindForbidden, fault.CodePersonRequired, "%s acts for people: use a personal key, or an app that signs in.", alias)
}

// ConnectionRequired returns the fault for a request of a user whose own
// connection to the server is missing, has ended or was rejected.
func ConnectionRequired(alias string, reason Reason) *fault.Fault {
	f := fault.Upstream(fault.CodeConnectionRequired, "%s needs your account. Connect it and try again.", alias)
	f.Reason = string(reason)
	return f
}
