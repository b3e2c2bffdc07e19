package notify

// MaxRemembered exports maxRemembered for tests.
const MaxRemembered = maxRemembered
