package models

import "time"

// Via is the origin of a membership in a group.
type Via string

// The origins of memberships. A user can be a member of a group by both.
const (
	ViaLocal Via = "local" // an administrator added the user
	ViaClaim Via = "claim" // the identity provider sent the group's claim at the last sign-in
)

// GroupMember is a user who is a member of a group.
type GroupMember struct {
	GroupID string    `gorm:"primaryKey"`
	UserID  string    `gorm:"primaryKey"`
	Via     Via       `gorm:"primaryKey"`
	SeenAt  time.Time // time of the addition or of the sign-in
}
