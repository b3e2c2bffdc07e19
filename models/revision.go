package models

// Revision counts the committed changes of a topic, such as a project's
// toolset. A transaction that changes rows of a snapshot increments the topic's
// revision. Other processes compare revisions and reload.
type Revision struct {
	Topic    string `gorm:"primaryKey"`
	Revision int64
}
