package models

import "time"

// Invite is a link that authorizes its bearer to set the password of a user,
// once. A user has at most one.
type Invite struct {
	Hash      []byte `gorm:"primaryKey"` // SHA-256 of the token in the link
	UserID    string
	Purpose   LinkPurpose `gorm:"default:join"`
	CreatedAt time.Time
	ExpiresAt time.Time
}

// LinkPurpose is the right of the bearer of a link.
type LinkPurpose string

// The purposes of links.
const (
	LinkJoin  LinkPurpose = "join"  // set the name and the first password of an invited user
	LinkReset LinkPurpose = "reset" // replace the password of a user
	LinkUsed  LinkPurpose = "used"  // none: the link was used
)
