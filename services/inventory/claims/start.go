package claims

import (
	"context"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/notify"
	"mcpgateway/services/toolset/addresses"
)

// Start must be called before the projects are loaded. In projects without
// claims, such as those of an earlier release, the enabled servers claim what
// their last syncs read, in the order of their aliases. Servers that were never
// synced claim in that order too, if their first syncs end soon after the start.
func (s *Store) Start(ctx context.Context) error {
	db := s.db.WithContext(ctx)
	projects, err := unclaimed(db)
	if err != nil {
		return fault.Internal(err)
	}
	for _, id := range projects {
		if err := db.Transaction(func(tx *gorm.DB) error { return s.adopt(tx, id) }); err != nil {
			return fault.Internal(err)
		}
	}
	var rows []struct {
		ProjectID string
		Newest    int64
	}
	if err := db.Model(&models.AddressClaim{}).Select("project_id, MAX(position) AS newest").Group("project_id").Scan(&rows).Error; err != nil {
		return fault.Internal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.started, s.newest = s.now(), map[string]int64{}
	for _, row := range rows {
		s.newest[row.ProjectID] = row.Newest
	}
	return nil
}

// unclaimed returns the projects without claims whose enabled servers show
// something.
func unclaimed(db *gorm.DB) (ids []string, err error) {
	shows := db.Model(&models.Server{}).Select("1").Where("servers.project_id = projects.id AND servers.enabled = ?", true).
		Where(db.Where("EXISTS (?)", showing(db.Model(&models.Tool{})).Select("1").Where("tools.server_id = servers.id")).
			Or("EXISTS (?)", offering(db.Model(&models.Listing{})).Select("1").Where("listings.server_id = servers.id")))
	err = db.Model(&models.Project{}).Where("NOT EXISTS (?)", db.Model(&models.AddressClaim{}).Select("1").Where("address_claims.project_id = projects.id")).
		Where("EXISTS (?)", shows).Order("id").Pluck("id", &ids).Error
	return ids, err
}

// showing selects the tools that may show a resource.
func showing(tools *gorm.DB) *gorm.DB {
	return tools.Where("definition LIKE ? OR definition LIKE ?", `%resourceUri"%`, `%"openai/outputTemplate"%`)
}

// offering selects the listings that have an address.
func offering(listings *gorm.DB) *gorm.DB { return listings.Where("kind <> ?", models.ListingPrompt) }

// adopt claims what the servers of a project show.
func (s *Store) adopt(tx *gorm.DB, projectID string) error {
	var servers []models.Server
	if err := tx.Order("alias").Find(&servers, "project_id = ? AND enabled = ?", projectID, true).Error; err != nil {
		return err
	}
	var rows []models.AddressClaim
	for i, server := range servers {
		shown, err := stored(tx, server.ID)
		if err != nil {
			return err
		}
		shown = shown[:min(len(shown), addresses.MaxClaims-len(rows))]
		rows = append(rows, rowsOf(&server, shown, int64(i+1), s.now())...)
	}
	if len(rows) == 0 {
		return nil
	}
	if err := notify.Touch(tx, notify.Toolset(projectID)); err != nil {
		return err
	}
	return create(tx, rows)
}

// stored returns what the last sync of a server read.
func stored(tx *gorm.DB, serverID string) ([]addresses.Text, error) {
	var listings []models.Listing
	if err := offering(tx).Order("kind, position, ident").Find(&listings, "server_id = ?", serverID).Error; err != nil {
		return nil, err
	}
	var tools []models.Tool
	err := showing(tx).Select("definition").Order("position, name").Find(&tools, "server_id = ?", serverID).Error
	return addresses.ShownBy(tools, listings), err
}
