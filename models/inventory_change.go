package models

// InventoryChange is the revision of a project's tools at which a sync last
// changed a server's inventory. A process at an earlier revision reloads only
// the servers with later ones.
type InventoryChange struct {
	ServerID  string `gorm:"primaryKey"`
	ProjectID string
	Revision  int64 // of the project's toolset topic
}
