package access

import "mcpgateway/models"

// roleProblem returns what is wrong with the name of a role, or nothing.
func roleProblem(role models.Role) string {
	switch role {
	case models.RoleAdmin, models.RoleViewer, models.RoleMember:
		return ""
	}
	return "use admin, viewer or member"
}
