package models

// ListingKind says what a listing is.
type ListingKind string

// The kinds of listings.
const (
	ListingPrompt   ListingKind = "prompt"
	ListingResource ListingKind = "resource"
	ListingTemplate ListingKind = "template"
)

// Listing is one prompt, resource or resource template of an upstream server
// as its last successful sync saw it.
type Listing struct {
	ServerID   string      `gorm:"primaryKey"`
	Kind       ListingKind `gorm:"primaryKey"`
	Ident      string      `gorm:"primaryKey"` // name, uri or uriTemplate
	Position   int         // order in the upstream's list
	Definition string      // the raw JSON object of the list, byte for byte
}
