package access

import "mcpgateway/models"

// Administers reports whether people of a role may read the administration.
// Others only have their own pages.
func Administers(role models.Role) bool {
	return role == models.RoleAdmin || role == models.RoleViewer
}

// roleProblem returns what is wrong with the name of a role, or nothing.
func roleProblem(role models.Role) string {
	switch role {
	case models.RoleAdmin, models.RoleViewer, models.RoleMember:
		return ""
	}
	return "use admin, viewer or member"
}
