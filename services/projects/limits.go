package projects

// Defaults of new projects and servers (contract, "Limits").
const (
	defaultTimeoutMS         = 60_000
	defaultTaskTimeoutMS     = 600_000
	defaultConcurrent        = 512
	defaultCodeModeTimeoutMS = 30_000
	defaultPersonalKeyDays   = 365
)
