package connections

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/declaration"
	"mcpgateway/services/fault"
)

// Merge applies a declaration to a server with its other declared credentials,
// and returns the names of changed fields and the problems of invalid ones.
// nameProblem returns why requests can't have a header, or "".
func Merge(row *models.Server, d *declaration.Personal, nameProblem func(name string) string) (changed []string, problems map[string]string) {
	problems = map[string]string{}
	if row.Connection == "" {
		row.Connection = models.ConnectionShared
	}
	if d.Connection != nil && row.Connection != *d.Connection {
		row.Connection = *d.Connection
		changed = append(changed, "connection")
	}
	names := []string(row.PersonalHeaders)
	switch {
	case d.PersonalHeaders != nil:
		names = headerNames(row, *d.PersonalHeaders, nameProblem, problems)
	case d.Connection != nil && !row.IsPersonal():
		names = nil
	}
	if !slices.Equal(names, row.PersonalHeaders) {
		row.PersonalHeaders = names
		changed = append(changed, "personalHeaders")
	}
	if !row.IsPersonal() && row.InventoryUserID != "" {
		row.InventoryUserID = ""
		changed = append(changed, "inventoryPerson")
	}
	checkAccount(row, problems)
	return changed, problems
}

// headerNames returns the canonical names of personal headers.
func headerNames(row *models.Server, given []string, nameProblem func(string) string, problems map[string]string) []string {
	var names []string
	for i, text := range given {
		name, path := http.CanonicalHeaderKey(text), fmt.Sprintf("personalHeaders[%d]", i)
		_, shared := row.Headers[name]
		switch why := nameProblem(text); {
		case why != "":
			problems[path] = why
		case name == "Cookie":
			problems[path] = "cookies are not supported"
		case name == "Authorization" && row.AuthType != models.UpstreamAuthNone:
			problems[path] = "authType " + string(row.AuthType) + " sets this header"
		case shared:
			problems[path] = "this header is also in headers: remove it there, or here"
		case slices.Contains(names, name):
			problems[path] = "this header is listed twice. Case is ignored."
		default:
			names = append(names, name)
		}
	}
	return names
}

// checkAccount adds the problems of settings that don't fit the connection mode.
func checkAccount(row *models.Server, problems map[string]string) {
	problem := func(field, why string) {
		if problems[field] == "" {
			problems[field] = why
		}
	}
	switch {
	case !row.IsPersonal() && len(row.PersonalHeaders) > 0:
		problem("personalHeaders", "only servers with connection personal have these")
	case !row.IsPersonal():
	case row.AuthType == models.UpstreamAuthNone && len(row.PersonalHeaders) == 0 && len(problems) == 0:
		problem("connection", "personal requires authType oauth or bearer, or personalHeaders")
	case row.AuthBearer != "":
		problem("authBearer", "with connection personal everyone enters their own token: remove it")
	}
	for _, name := range row.PersonalHeaders {
		if _, both := row.Headers[name]; both && row.IsPersonal() {
			problem("headers."+name, "this is one of the personalHeaders")
		}
		if name == "Authorization" && row.AuthType != models.UpstreamAuthNone {
			problem("personalHeaders", "authType "+string(row.AuthType)+" sets the header Authorization")
		}
	}
}

// NeedsPeople is the reason why a project without authentication can't have
// personal servers.
const NeedsPeople = "with authMode none the gateway can't tell people apart. Choose another authMode, or connection shared."

// Connected is a user with a connection to a server.
type Connected struct{ UserID, Name, Email string }

// Label returns the email address of the user, else their name.
func (c Connected) Label() string { return cmp.Or(c.Email, c.Name, c.UserID) }

// Of returns the users with a connection to a server, by name.
func Of(tx *gorm.DB, serverID string) ([]Connected, error) {
	var rows []Connected
	err := tx.Table("personal_connections").Joins("JOIN users ON users.id = personal_connections.user_id").
		Where("personal_connections.server_id = ? AND personal_connections.connected_at IS NOT NULL", serverID).Select("users.id AS user_id, users.name, users.email").Order("users.name, users.id").Scan(&rows).Error
	return rows, err
}

// IsConnected reports whether the shared connection to a server exists.
func IsConnected(tx *gorm.DB, serverID string) (bool, error) {
	var n int64
	err := tx.Model(&models.Connection{}).Where("server_id = ? AND (access_token <> '' OR refresh_token <> '')", serverID).Count(&n).Error
	return n > 0, err
}

// ConfirmSwitch returns CONFLICT with the field connections, unless the alias of
// the server was entered to confirm that a change of the connection mode removes
// connections.
func ConfirmSwitch(alias string, entered *string, people int) error {
	if entered != nil && *entered == alias {
		return nil
	}
	what := "the shared connection"
	if people > 0 {
		what = fmt.Sprintf("the connections of %d people", people)
	}
	if people == 1 {
		what = "the connection of 1 person"
	}
	f := fault.Conflict("This removes %s. To confirm, send confirm with the alias %s.", what, alias)
	f.Fields = map[string]string{"connections": "This removes " + what + "."}
	return f
}
