package projects

import (
	"context"
	"errors"
	"strings"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/activity"
	"mcpgateway/services/connections"
	"mcpgateway/services/declaration"
	"mcpgateway/services/fault"
	"mcpgateway/services/notify"
	"mcpgateway/services/oauthclient/accounts"
)

// mergePersonal applies the declared accounts to a row whose other credentials
// are merged.
func (m *merge) mergePersonal(row *models.Server, d *declaration.Personal) {
	changed, problems := connections.Merge(row, d, headerProblem)
	m.changed = append(m.changed, changed...)
	for field, why := range problems {
		if m.problems[field] == "" {
			m.problems[field] = why
		}
	}
}

// account checks the accounts of a merged server against its project and its
// stored row, which has no ID for a new server. A change of the connection mode
// deletes the connections of the other kind.
func (w *writer) account(project *models.Project, stored, row *models.Server, d *declaration.Personal, m *merge) error {
	if row.IsPersonal() && project.AuthMode == models.AuthNone {
		w.problem(project.Slug, row.Alias, "connection", connections.NeedsPeople)
	}
	if err := w.inventoryPerson(project, row, d, m); err != nil {
		return err
	}
	if stored.ID == "" || stored.IsPersonal() == row.IsPersonal() {
		return nil
	}
	return w.switchAccounts(project, stored, row, d)
}

// inventoryPerson sets the user whose connection reads the inventory.
func (w *writer) inventoryPerson(project *models.Project, row *models.Server, d *declaration.Personal, m *merge) error {
	if d.InventoryPerson == nil {
		return nil
	}
	id := ""
	switch email := strings.TrimSpace(*d.InventoryPerson); {
	case email == "":
	case !row.IsPersonal():
		w.problem(project.Slug, row.Alias, "inventoryPerson", "only servers with connection personal have one")
		return nil
	default:
		var user models.User
		err := w.tx.Select("id").First(&user, "email_fold = ?", strings.ToLower(email)).Error
		if errors.Is(err, gorm.ErrRecordNotFound) {
			w.problem(project.Slug, row.Alias, "inventoryPerson", "no user has this email address")
			return nil
		}
		if err != nil {
			return err
		}
		id = user.ID
	}
	if id != row.InventoryUserID {
		row.InventoryUserID = id
		m.changed = append(m.changed, "inventoryPerson")
		w.topics[notify.Connection(row.ID)] = true
		w.entries = append(w.entries, inventoryChanged(project, row, strings.TrimSpace(*d.InventoryPerson)))
	}
	return nil
}

// switchAccounts deletes the connections of a server that no longer fit its
// connection mode, if the caller confirmed that.
func (w *writer) switchAccounts(project *models.Project, stored, row *models.Server, d *declaration.Personal) error {
	people, err := connections.Of(w.tx, row.ID)
	if err != nil {
		return err
	}
	shared, err := connections.IsConnected(w.tx, row.ID)
	if err != nil {
		return err
	}
	if stored.IsPersonal() && len(people) > 0 || !stored.IsPersonal() && shared {
		if err := connections.ConfirmSwitch(stored.Alias, d.Confirm, len(people)); err != nil {
			return err
		}
	}
	return w.deleteConnections(project, row, stored.IsPersonal(), "connection is now "+string(row.Connection))
}

// deleteConnections deletes the personal connections of a server or its shared
// one, and records why.
func (w *writer) deleteConnections(project *models.Project, row *models.Server, personal bool, because string) error {
	people, err := connections.Of(w.tx, row.ID)
	if err != nil {
		return err
	}
	topics, err := accounts.Delete(w.tx, row.ID, personal)
	if err != nil {
		return err
	}
	for _, topic := range topics {
		w.topics[topic] = true
	}
	for _, p := range people {
		if personal {
			w.entries = append(w.entries, activity.Entry{
				Action: "connection.removed", Object: row.Alias, ObjectID: row.ID, Project: project.Slug, Detail: map[string]string{"person": p.Label(), "personId": p.UserID, "because": because},
			})
		}
	}
	return nil
}

// checkOpen records a problem if a project without authentication keeps a server
// that everyone uses with their own account. named are the folded aliases of the
// servers that were checked already.
func (w *writer) checkOpen(project *models.Project, servers map[string]models.Server, named map[string]bool) {
	if project.AuthMode != models.AuthNone {
		return
	}
	for fold, row := range servers {
		if row.IsPersonal() && !named[fold] {
			w.problem(project.Slug, "", "authMode", "everyone uses server "+row.Alias+" with their own account, so the gateway must tell people apart. Choose api_key or oauth.")
		}
	}
}

// addPersonal adds to an exported project which servers everyone uses with their
// own account. people includes the users whose connection reads the inventory.
func (s *Store) addPersonal(ctx context.Context, file *exportProject, servers []models.Server, people bool) error {
	for _, row := range servers {
		if !row.IsPersonal() {
			continue
		}
		server := file.Servers[row.Alias]
		server.Connection, server.PersonalHeaders = row.Connection, row.PersonalHeaders
		if people && row.InventoryUserID != "" {
			var emails []string
			if err := s.db.WithContext(ctx).Model(&models.User{}).Where("id = ?", row.InventoryUserID).Pluck("email", &emails).Error; err != nil {
				return fault.Internal(err)
			}
			server.InventoryPerson = strings.Join(emails, "")
		}
		file.Servers[row.Alias] = server
	}
	return nil
}

// SetInventoryUser sets the user whose connection reads the inventory of a
// server, or removes the choice for no user. It records
// connection.inventory_changed. It returns NOT_FOUND for an unknown server and
// for a user without a connection to it, CONFLICT for a server with a shared
// connection, and VALIDATION_FAILED for a user who doesn't allow it.
func (s *Store) SetInventoryUser(ctx context.Context, serverID, userID string) error {
	_, err := s.write(ctx, pathInServer, false, func(w *writer) error {
		project, row, err := w.lockServer(serverID)
		if err != nil {
			return err
		}
		if !row.IsPersonal() {
			return fault.Conflict("Server %s has a shared connection. Only servers with connection personal have this choice.", row.Alias)
		}
		person := ""
		if userID != "" {
			if person, err = w.inventoryVolunteer(row.ID, userID); err != nil {
				return err
			}
		}
		if row.InventoryUserID == userID {
			return nil
		}
		row.InventoryUserID, row.UpdatedAt = userID, s.now()
		w.topics[notify.Toolset(project.ID)], w.topics[notify.Connection(row.ID)] = true, true
		w.entries = append(w.entries, inventoryChanged(&project, &row, person))
		return w.tx.Model(&row).Select("inventory_user_id", "updated_at").Updates(&row).Error
	})
	return err
}

func inventoryChanged(project *models.Project, row *models.Server, person string) activity.Entry {
	return activity.Entry{
		Action: "connection.inventory_changed", Object: row.Alias, ObjectID: row.ID, Project: project.Slug, Detail: map[string]string{"person": person, "personId": row.InventoryUserID},
	}
}

// inventoryVolunteer returns the label of a user who allows that their connection
// reads the inventory of a server.
func (w *writer) inventoryVolunteer(serverID, userID string) (string, error) {
	var row models.PersonalConnection
	err := w.tx.Select("inventory_ok").First(&row, "server_id = ? AND user_id = ?", serverID, userID).Error
	if err != nil {
		return "", notFound(err, "connection", userID)
	}
	if !row.InventoryOK {
		return "", fault.Validation(map[string]string{"personId": "this person doesn't allow it: they can change that on their own page"})
	}
	var user models.User
	err = w.tx.Select("email", "name").First(&user, "id = ?", userID).Error
	return connections.Connected{UserID: userID, Name: user.Name, Email: user.Email}.Label(), err
}
