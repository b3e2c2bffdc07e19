package artifacts

import "time"

// Limits of artifacts.
const (
	// MaxBytes is the maximum size of a value that code stores, in bytes.
	MaxBytes = 5 << 20
	// MaxAnswer is the maximum size of a stored result of a tool in bytes. Responses
	// of servers have no more.
	MaxAnswer = 10 << 20
	// MaxProjectBytes limits the total size of a project's artifacts, in bytes.
	MaxProjectBytes = 50 << 20
	// MaxPerProject is the maximum number of artifacts of a project.
	MaxPerProject = 10_000
	// MaxName is the maximum length of a name in characters.
	MaxName = 128
	// Lifetime is the time from storing an artifact until it expires.
	Lifetime = 24 * time.Hour
)
