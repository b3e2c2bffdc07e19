package config

// Capacity limits the resources used by clients.
type Capacity struct {
	MaxConnections int   // concurrent, all clients
	MaxPerAddress  int   // concurrent, per client address
	RequestMemory  int64 // bytes of request bodies in flight
	ResultMemory   int64 // bytes of large results in memory
}

// Limits of the memory settings, in MiB. The minimums fit a few of the largest
// request bodies and results.
const (
	minRequestMemory = 8
	minResultMemory  = 64
	maxMemory        = 1 << 20
)

func (r *loader) capacity(vars variables) Capacity {
	least := func(name string, value int) {
		if value < 1 && !r.isReported(name) {
			r.addProblem("%s: use at least 1", name)
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
func (r *loader) mebibytes(name string, value, least int) int64 {
	if (value < least || value > maxMemory) && !r.isReported(name) {
		r.addProblem("%s: use a number of MiB from %d to %d", name, least, maxMemory)
	}
	return int64(value) << 20
}
