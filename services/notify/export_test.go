package notify

// MaxRemembered is the bound, for tests.
const MaxRemembered = maxRemembered
