package activity

// MaxPayloadsWaiting is how many payloads may wait to be written.
const MaxPayloadsWaiting = maxPayloadsWaiting
