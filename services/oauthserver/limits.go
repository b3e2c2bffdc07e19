package oauthserver

import "time"

// Lifetimes of issued codes and tokens.
const (
	CodeLife      = 60 * time.Second    // of an authorization code
	ConsentLife   = 10 * time.Minute    // of a consent page
	AccessLife    = time.Hour           // of an access token
	RefreshIdle   = 30 * 24 * time.Hour // of an unused refresh token
	GrantLife     = 90 * 24 * time.Hour // of a grant, regardless of refreshes
	ViewTokenLife = 30 * 24 * time.Hour // of an access token for a view, which is not refreshed
	RotationGrace = 30 * time.Second    // in which reusing a refresh token returns another pair
)

// Limits of clients.
const (
	MaxRegistration      = 8 << 10 // bytes per registration
	MaxRedirectURIs      = 10
	MaxRedirectURI       = 2048 // bytes
	MaxClientName        = 100  // characters; longer names are truncated
	MaxUnusedClients     = 10_000
	UnusedClientLife     = 24 * time.Hour      // of a client without consent
	UnusedClientGrace    = 15 * time.Minute    // in which such a client is not evicted
	IdleClientLife       = 90 * 24 * time.Hour // of a client after its last token
	RegistrationsPerHour = 10                  // per address and per IPv6 /64
	RegistrationsPer56   = 40                  // per hour and IPv6 /56
	RegistrationsPer48   = 160                 // per hour and IPv6 /48
)

// Limits of client metadata documents.
const (
	MaxDocument         = 5 << 10 // bytes
	DocumentTimeout     = 5 * time.Second
	DocumentMinTTL      = 30 * time.Second // minimum lifetime of a document
	DocumentMaxTTL      = 24 * time.Hour   // maximum lifetime of a document
	DocumentsPerHour    = 60               // fetched per user
	MaxDocumentClientID = 1024             // bytes
)

// Limits of requests and grants.
const (
	MaxAuthorizeQuery = 2000 // bytes; it must survive the sign-in redirect
	MaxTokenRequest   = 8 << 10
	MaxScope          = 512 // bytes
	MaxGrants         = 200 // live grants per user, and as many tokens for views
	RefreshesPerHour  = 120 // per grant
	MaxChoices        = 200 // projects to choose from
)

// Limits of the token index.
const (
	maxCached   = 50_000
	maxRefused  = 10_000
	negativeTTL = 10 * time.Second
	lookups     = 4               // concurrent database reads
	lookupWait  = 2 * time.Second // wait for a read
)

// Limits of the sweep.
const (
	codeRetention  = 24 * time.Hour      // after its end, to detect reuse
	grantRetention = 30 * 24 * time.Hour // after its end
	maxUsedTokens  = 1000                // per grant; older ones are deleted
	sweepBatch     = 100                 // clients per batch
)
