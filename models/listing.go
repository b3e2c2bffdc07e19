package models

// ListingKind is the kind of a listing.
type ListingKind string

// The kinds of listings.
const (
	ListingPrompt   ListingKind = "prompt"
	ListingResource ListingKind = "resource"
	ListingTemplate ListingKind = "template"
	ListingSkill    ListingKind = "skill"
)

// Listing is a prompt, resource, resource template or skill found by the last
// successful sync of an upstream server.
type Listing struct {
	ServerID   string      `gorm:"primaryKey"`
	Kind       ListingKind `gorm:"primaryKey"`
	Ident      string      `gorm:"primaryKey"` // name, uri or uriTemplate; of a skill the URI of its SKILL.md
	Position   int         // order in the upstream's list
	Definition string      // raw JSON object of the list
}
