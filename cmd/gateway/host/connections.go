package host

import (
	"log/slog"

	"mcpgateway/services/config"
	"mcpgateway/services/fault"
	"mcpgateway/views/paths"
	"mcpgateway/web/conn"
)

// maxReserved is the maximum number of reserved descriptors if the process's
// limit is low.
const maxReserved = 256

// ConnLimits returns the limits of client connections. A quarter of the
// process's descriptors, at least 256 if the limit is at least 512, is reserved
// for the database, upstream servers and files. A single address may use half
// of all connections.
func ConnLimits(c *config.Config, descriptors int, log *slog.Logger) conn.Limits {
	limits := conn.Limits{Max: c.MaxConnections, MaxPerAddress: c.MaxPerAddress, Exempt: c.TrustedProxies, Log: log, Help: c.PublicURL.String() + paths.ErrorCode(string(fault.CodeUnavailable))}
	if descriptors > 0 {
		reserved := max(descriptors/4, min(maxReserved, descriptors/2))
		if most := max(1, descriptors-reserved); most < limits.Max {
			log.Warn("connection limit lowered to fit the descriptor limit", "descriptors", descriptors, "connections", most)
			limits.Max = most
		}
	}
	limits.MaxPerAddress = min(limits.MaxPerAddress, max(1, limits.Max/2))
	return limits
}
