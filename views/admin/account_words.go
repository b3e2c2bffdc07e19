package admin

// passwordHint describes the rules for passwords.
const passwordHint = "At least 12 characters. A few words in a row are easy to remember and hard to guess."

// roleWords returns the label of a role.
func roleWords(role string) string {
	switch role {
	case "admin":
		return "Administrator"
	case "viewer":
		return "Viewer"
	case "member":
		return "Member"
	}
	return role
}

// roleMeans describes the permissions of a role.
func roleMeans(role string) string {
	switch role {
	case "admin":
		return "Sees and changes everything."
	case "viewer":
		return "Sees the admin pages. Changes nothing."
	default:
		return "Signs in to use projects from MCP clients. No access to the admin pages."
	}
}
