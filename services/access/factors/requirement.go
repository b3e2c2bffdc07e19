package factors

import (
	"context"

	"mcpgateway/models"
	"mcpgateway/services/fault"
)

// Requirement names the users who must have a second factor.
type Requirement string

// The requirements.
const (
	RequireOff      Requirement = "off"
	RequireAdmins   Requirement = "admins"
	RequireEveryone Requirement = "everyone"
)

// Requires reports whether a user must have a second factor. Users without a
// password need none: their identity provider authenticates them.
func (s *Store) Requires(role models.Role, hasPassword bool) bool {
	if !hasPassword {
		return false
	}
	return s.Require == RequireEveryone || s.Require == RequireAdmins && role == models.RoleAdmin
}

// MustSetUp reports whether a user must set up a second factor before anything
// else.
func (s *Store) MustSetUp(ctx context.Context, userID string, role models.Role, hasPassword bool) (bool, error) {
	if !s.Requires(role, hasPassword) {
		return false, nil
	}
	has, err := s.Active(s.DB.WithContext(ctx), userID)
	if err != nil {
		return false, fault.Internal(err)
	}
	return !has, nil
}
