package models

// InventoryChange says by which change of its project's tools a server's
// inventory was last changed by a sync. Whoever knows the state of an earlier
// change reads again only the servers of the later ones.
type InventoryChange struct {
	ServerID  string `gorm:"primaryKey"`
	ProjectID string
	Revision  int64 // of the project's toolset topic
}
