package models

// UsageDay counts the calls of one caller of one tool on one day, over all
// replicas. It outlives the calls themselves.
type UsageDay struct {
	ProjectID     string `gorm:"primaryKey"`
	Day           string `gorm:"primaryKey"` // such as 2026-11-23, in UTC
	Server        string `gorm:"primaryKey"` // alias; empty for a built-in tool, and when no server was reached
	Tool          string `gorm:"primaryKey"` // empty for calls that failed before a server was reached, whose names clients choose
	Principal     string `gorm:"primaryKey"` // caller: key or sign-in
	Toolset       string `gorm:"primaryKey"` // slug of the toolset whose endpoint was called; empty for the project's
	UserID        string // person behind the caller; empty if there is none
	Calls         int64
	Failed        int64 // with an error, or a result with isError
	RequestBytes  int64
	ResponseBytes int64
}
