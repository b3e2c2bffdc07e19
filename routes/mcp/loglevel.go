package mcp

import (
	"context"
	"slices"

	"mcpgateway/services/fault"
	"mcpgateway/services/gateway"
	"mcpgateway/services/rawjson"
)

// LogLevels remember the level that logging/setLevel gave a session;
// sessions.Levels implements it.
type LogLevels interface {
	// Of returns the level of a session, or "". It doesn't read the database.
	Of(session string) string
	Set(ctx context.Context, session, level string) error
	Forget(ctx context.Context, session string) error
}

// setLevel answers logging/setLevel (MCP 2025-11-25, "Logging"). Without a
// session there is nothing to keep the level for.
func (e *Endpoint) setLevel(ctx context.Context, client *gateway.Client, params []byte) ([]byte, error) {
	o, err := rawjson.ParseObject(params, rawjson.Strict)
	if err != nil {
		return nil, fault.Invalid("logging/setLevel needs params with a level")
	}
	level, _ := o.String("level")
	if !slices.Contains(gateway.LogLevels(), level) {
		return nil, fault.Invalid("level must be one of %v", gateway.LogLevels())
	}
	if client.SessionID != "" {
		if err := e.Levels.Set(ctx, client.SessionID, level); err != nil {
			return nil, err
		}
	}
	return []byte("{}"), nil
}
