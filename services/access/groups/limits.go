package groups

// Limits of groups and their members.
const (
	Max        = 1_000 // groups
	MaxPerUser = 500   // groups of a user
	MaxName    = 100   // characters of a group's name
	MaxClaim   = 256   // bytes of a value of the provider's claim
	MaxValues  = 1_000 // values of the provider's claim
)
