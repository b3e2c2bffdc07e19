package rows

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/declaration"
	"mcpgateway/services/fault"
	"mcpgateway/services/projects"
	"mcpgateway/services/runners"
)

// connecting is a list of a connector that gets its servers.
type connecting struct {
	*change
	peer    runners.Peer
	name    string                    // of the connector
	byFold  map[string]*models.Server // every server of the project
	byEntry map[string]*models.Server // those of the connector
}

// connect creates the servers of a connector's programs that have none, and
// updates their session mode. It returns all servers of the connector, and adds
// to refused the programs that can't have one, with the reason.
func (c *change) connect(peer runners.Peer, programs []program, rows []models.Server, refused map[string]string) ([]models.Server, error) {
	var connector models.Connector
	err := c.tx.First(&connector, "id = ? AND project_id = ? AND revoked_at IS NULL AND expires_at > ?", peer.ConnectorID, peer.ProjectID, c.store.options.Now()).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return nil, fault.NotFound("connector", peer.ConnectorID)
	}
	if err != nil {
		return nil, err
	}
	var all []models.Server
	if err := c.tx.Find(&all, "project_id = ?", peer.ProjectID).Error; err != nil {
		return nil, err
	}
	n := &connecting{change: c, peer: peer, name: connector.Name, byFold: map[string]*models.Server{}, byEntry: map[string]*models.Server{}}
	for i := range all {
		n.byFold[all[i].AliasFold] = &all[i]
	}
	for i := range rows {
		n.byEntry[rows[i].Entry] = &rows[i]
	}
	for _, p := range programs {
		why, err := n.program(p)
		if err != nil {
			return nil, err
		}
		if why != "" {
			refused[shorten(p.name)] = why
		}
	}
	servers := make([]models.Server, 0, len(n.byEntry))
	for _, entry := range slices.Sorted(maps.Keys(n.byEntry)) {
		servers = append(servers, *n.byEntry[entry])
	}
	return servers, nil
}

// program creates or updates the server of a program. It returns why the program
// gets none, or "".
func (n *connecting) program(p program) (why string, err error) {
	mode := models.SessionMode(p.mode)
	switch {
	case len(p.name) > maxEntry:
		return fmt.Sprintf("use a name of at most %d bytes", maxEntry), nil
	case p.hash == "" || len(p.hash) > maxHash:
		return "the runner sent no valid hash", nil
	case mode != models.SessionShared && mode != models.SessionPerClient:
		return "the runner sent no valid session mode", nil
	}
	if row := n.byEntry[p.name]; row != nil {
		return "", n.setMode(row, mode)
	}
	alias := n.peer.Prefix + p.name
	if why := declaration.CheckAlias(alias); why != "" {
		return fmt.Sprintf("%q can't be an alias: %s", shorten(alias), why), nil
	}
	if other := n.byFold[declaration.FoldAlias(alias)]; other != nil {
		return n.adopt(other, p, mode)
	}
	if len(n.byFold) >= declaration.MaxServers {
		return fmt.Sprintf("the project has the maximum of %d servers", declaration.MaxServers), nil
	}
	return "", n.create(alias, p, mode)
}

// adopt assigns the connector a server whose own connector may not connect any
// more, for example because its token has expired. Other servers are refused.
func (n *connecting) adopt(row *models.Server, p program, mode models.SessionMode) (why string, err error) {
	taken := fmt.Sprintf("the project already has a server %q: rename this entry, or start the runner with --prefix", row.Alias)
	if row.Source != models.SourceConnector || row.Entry != p.name {
		return taken, nil
	}
	var usable int64
	err = n.tx.Model(&models.Connector{}).Where("id = ? AND revoked_at IS NULL AND expires_at > ?", row.ConnectorID, n.store.options.Now()).Count(&usable).Error
	if err != nil || usable > 0 {
		return taken, err
	}
	row.ConnectorID, row.SessionMode = n.peer.ConnectorID, mode
	row.Undeclared = true // until settle, which records that it is declared again
	row.ConfigVersion++
	row.UpdatedAt = n.store.options.Now()
	n.byEntry[p.name] = row
	return "", n.tx.Save(row).Error
}

// create creates a server. Its tools wait for approval.
func (n *connecting) create(alias string, p program, mode models.SessionMode) error {
	row := projects.NewProgram(n.peer.ProjectID, alias, n.store.options.Now())
	row.Source, row.ConnectorID, row.Entry = models.SourceConnector, n.peer.ConnectorID, p.name
	row.SessionMode, row.DefinitionPolicy = mode, models.PolicyApprove
	n.byEntry[p.name], n.byFold[row.AliasFold] = &row, &row
	if err := n.tx.Create(&row).Error; err != nil {
		return err
	}
	return n.note("server.created", &row, map[string]string{"connector": n.name})
}

// setMode updates the session mode of a server, which comes from the runner's
// file.
func (n *connecting) setMode(row *models.Server, mode models.SessionMode) error {
	if row.SessionMode == mode {
		return nil
	}
	row.SessionMode = mode
	row.ConfigVersion++
	row.UpdatedAt = n.store.options.Now()
	if err := n.tx.Save(row).Error; err != nil {
		return err
	}
	return n.note("server.updated", row, map[string]string{"fields": "sessionMode", "connector": n.name})
}

// shorten returns the beginning of a text from a runner.
func shorten(text string) string {
	if len(text) <= maxEntry {
		return text
	}
	return text[:maxEntry] + "…"
}
