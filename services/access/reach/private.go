package reach

import (
	"regexp"
	"strings"

	"mcpgateway/models"
	"mcpgateway/services/fault"
)

// actorUser is the kind of audit rows about what a person did.
const actorUser = "user"

// email matches everything that looks like an email address.
var email = regexp.MustCompile(`[^\s@<>"',;:()]+@[^\s@<>"',;:()]+`)

// Call returns the name of another user with the id and name for the person:
// usual, or the name alone if the person may not see email addresses.
func (r Reach) Call(id, name, usual string) string {
	switch {
	case r.SeesAll() || id == r.userID:
		return usual
	case name != "" && !strings.Contains(name, "@"):
		return name
	default:
		return "Person " + id[max(0, len(id)-6):]
	}
}

// Text returns a text as the person may read it: without email addresses unless
// they see all projects.
func (r Reach) Text(text string) string {
	if r.SeesAll() {
		return text
	}
	return email.ReplaceAllString(text, "(hidden)")
}

// AuditRow returns a row of the audit log as the person may read it.
func (r Reach) AuditRow(row models.AuditEntry) models.AuditEntry {
	if r.SeesAll() {
		return row
	}
	if row.ActorKind == actorUser {
		row.ActorName = r.Call(row.ActorID, "", row.ActorName)
	} else {
		row.ActorName = r.Text(row.ActorName)
	}
	row.Object = r.Text(row.Object)
	detail := models.StringMap{}
	for name, value := range row.Detail {
		detail[r.Text(name)] = r.Text(value)
	}
	row.Detail = detail
	return row
}

// CheckFilter returns INVALID_PARAMETER for a filter by an email address that the
// person can't see, because its results would confirm whose it is.
func (r Reach) CheckFilter(values ...string) error {
	if !r.SeesAll() && strings.Contains(strings.Join(values, " "), "@") {
		return fault.Invalid("Filter by an ID. Email addresses are only for administrators.")
	}
	return nil
}
