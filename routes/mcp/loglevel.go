package mcp

import (
	"context"
	"slices"

	"mcpgateway/services/fault"
	"mcpgateway/services/gateway"
	"mcpgateway/services/rawjson"
)

// LogLevels store the log levels that logging/setLevel sets for sessions.
// Implemented by sessions.Levels.
type LogLevels interface {
	// Of returns the level of a session, or "". It doesn't query the database.
	Of(session string) string
	Set(ctx context.Context, session, level string) error
	Forget(ctx context.Context, session string) error
}

// setLevel handles logging/setLevel (MCP 2025-11-25, "Logging"). Without a
// session it only validates the level.
func (e *Endpoint) setLevel(ctx context.Context, client *gateway.Client, params []byte) ([]byte, error) {
	o, err := rawjson.ParseObject(params, rawjson.Strict)
	if err != nil {
		return nil, fault.Invalid("logging/setLevel requires params with a level.")
	}
	level, _ := o.String("level")
	if !slices.Contains(gateway.LogLevels(), level) {
		return nil, fault.Invalid("level must be one of %v.", gateway.LogLevels())
	}
	if client.SessionID != "" {
		if err := e.Levels.Set(ctx, client.SessionID, level); err != nil {
			return nil, err
		}
	}
	return []byte("{}"), nil
}
