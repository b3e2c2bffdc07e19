package traffic

import "context"

// UseOf is ToolUse with another limit of tools.
func (s *Store) UseOf(ctx context.Context, projectID string, limit int) (map[string]Use, error) {
	return s.toolUse(ctx, projectID, limit)
}
