package models

// Revision counts the committed changes of one topic, such as the toolset of
// a project. Whoever writes a row a snapshot is built from raises the topic's
// revision in the same transaction; other processes compare and rebuild.
type Revision struct {
	Topic    string `gorm:"primaryKey"`
	Revision int64
}
