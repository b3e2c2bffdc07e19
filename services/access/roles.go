package access

import "mcpgateway/models"

// Administers reports whether users with the role may read the administration
// pages. Others only have their own pages.
func Administers(role models.Role) bool {
	return role == models.RoleAdmin || role == models.RoleViewer
}

// roleProblem returns the reason a role is invalid, or "".
func roleProblem(role models.Role) string {
	switch role {
	case models.RoleAdmin, models.RoleViewer, models.RoleMember:
		return ""
	}
	return "Use admin, viewer or member."
}
