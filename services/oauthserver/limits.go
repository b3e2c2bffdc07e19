package oauthserver

import "time"

// Lifetimes of what the authorization server hands out.
const (
	CodeLife      = 60 * time.Second    // of an authorization code
	ConsentLife   = 10 * time.Minute    // of a consent page
	AccessLife    = time.Hour           // of an access token
	RefreshIdle   = 30 * 24 * time.Hour // of a refresh token that nobody uses
	GrantLife     = 90 * 24 * time.Hour // of a grant, however often its tokens are renewed
	RotationGrace = 30 * time.Second    // in which a used refresh token gets a sibling pair
)

// Bounds of clients.
const (
	MaxRegistration      = 8 << 10 // bytes of a registration
	MaxRedirectURIs      = 10
	MaxRedirectURI       = 2048 // bytes
	MaxClientName        = 100  // characters; longer names are cut
	MaxUnusedClients     = 10_000
	UnusedClientLife     = 24 * time.Hour      // of a client that nobody gave access
	UnusedClientGrace    = 15 * time.Minute    // in which such a client never gives way to another
	IdleClientLife       = 90 * 24 * time.Hour // of a client since it last got a token
	RegistrationsPerHour = 10                  // for each address, and each /64 of IPv6
	RegistrationsPer56   = 40                  // within an hour, for each /56 of IPv6
	RegistrationsPer48   = 160                 // within an hour, for each /48 of IPv6
)

// Bounds of client metadata documents.
const (
	MaxDocument         = 5 << 10 // bytes
	DocumentTimeout     = 5 * time.Second
	DocumentFreshest    = 30 * time.Second // a document is kept at least so long
	DocumentStalest     = 24 * time.Hour   // and at most so long
	DocumentsPerHour    = 60               // read for each person
	MaxDocumentClientID = 1024             // bytes
)

// Bounds of requests and grants.
const (
	MaxAuthorizeQuery = 2000 // bytes; it must come back from the sign-in page
	MaxTokenRequest   = 8 << 10
	MaxScope          = 512 // bytes
	MaxGrants         = 200 // live ones for each person
	RefreshesPerHour  = 120 // for each grant
	MaxChoices        = 200 // projects that a person chooses from
)

// Bounds of the token index.
const (
	maxCached   = 50_000
	maxRefused  = 10_000
	refusedLife = 10 * time.Second
	lookups     = 4               // reads of the database at once
	lookupWait  = 2 * time.Second // for one of them
)

// Bounds of the clean-up.
const (
	codeKept      = 24 * time.Hour      // after its end, to notice a second use
	grantKept     = 30 * 24 * time.Hour // after its end
	maxUsedTokens = 1000                // of a grant; older ones are forgotten
	sweptAtOnce   = 100                 // clients
)
