package models

// QuotaUse counts the calls of one subject of a limit on one day, over all
// replicas.
type QuotaUse struct {
	ProjectID string `gorm:"primaryKey"`
	Subject   string `gorm:"primaryKey"` // JSON array of per, match and the id of the key, user, toolset or tool
	Day       string `gorm:"primaryKey"` // such as 2026-11-23, in UTC
	Used      int64
}

// TableName returns the table's name, which is not a plural.
func (QuotaUse) TableName() string { return "quota_use" }
