package config

// Capacity bounds what clients may use of the process.
type Capacity struct {
	MaxConnections int   // open at once, of all clients
	MaxPerAddress  int   // open at once, of one client address
	RequestMemory  int64 // bytes of all request bodies in flight
	ResultMemory   int64 // bytes of all large results in memory
}

// Bounds of the memory settings, in MiB. The lower ones hold a few of the
// largest request bodies and results.
const (
	minRequestMemory = 8
	minResultMemory  = 64
	maxMemory        = 1 << 20
)

func (r *reader) capacity(vars variables) Capacity {
	least := func(name string, value int) {
		if value < 1 && !r.told(name) {
			r.mistake("%s: use at least 1", name)
		}
	}
	least("GATEWAY_MAX_CONNECTIONS", vars.MaxConnections)
	least("GATEWAY_MAX_CONNECTIONS_PER_ADDRESS", vars.MaxPerAddress)
	return Capacity{
		MaxConnections: vars.MaxConnections, MaxPerAddress: vars.MaxPerAddress,
		RequestMemory: r.mebibytes("GATEWAY_REQUEST_MEMORY_MIB", vars.RequestMemory, minRequestMemory),
		ResultMemory:  r.mebibytes("GATEWAY_RESULT_MEMORY_MIB", vars.ResultMemory, minResultMemory),
	}
}

// mebibytes returns a size in bytes.
func (r *reader) mebibytes(name string, value, least int) int64 {
	if (value < least || value > maxMemory) && !r.told(name) {
		r.mistake("%s: use a number of MiB from %d to %d", name, least, maxMemory)
	}
	return int64(value) << 20
}
