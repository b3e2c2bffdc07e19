package activity

// MaxPayloadsWaiting is the maximum number of queued payloads.
const MaxPayloadsWaiting = maxPayloadsWaiting

// TrimmedAtOnce is the number of rows that one transaction of Trim removes.
const TrimmedAtOnce = trimmedAtOnce
