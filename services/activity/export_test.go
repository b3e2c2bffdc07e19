package activity

// MaxPayloadsWaiting is the maximum number of queued payloads.
const MaxPayloadsWaiting = maxPayloadsWaiting
