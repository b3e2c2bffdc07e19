package toolset

import (
	"fmt"
	"strings"

	"mcpgateway/models"
	"mcpgateway/services/rawjson"
)

// ResultLimit returns the number of bytes of text from which the results of a
// server's tools are cut, or 0 for no limit. A server's own limit replaces that of
// the project. Projects without authentication have none, because results are
// stored for their caller.
func (s *Snapshot) ResultLimit(server *models.Server) int {
	switch {
	case s.Project.AuthMode == models.AuthNone:
		return 0
	case server.ResultLimit != nil:
		return int(*server.ResultLimit)
	default:
		return int(s.Project.ResultLimit)
	}
}

// ResultLimitOf is ResultLimit for a tool. Tools that only apps call have none.
func (s *Snapshot) ResultLimitOf(t *Tool) int {
	if t.App.Only {
		return 0
	}
	return s.ResultLimit(&t.Server.Config)
}

// LimitsResults reports whether any server of the snapshot has a limit.
func (s *Snapshot) LimitsResults() bool {
	for _, server := range s.Servers {
		if server.Config.IsOffered() && s.ResultLimit(&server.Config) > 0 {
			return true
		}
	}
	return false
}

// limitedServers returns the aliases of the servers with a limit, for the hash of
// the list.
func (s *Snapshot) limitedServers() string {
	var b strings.Builder
	for _, server := range s.Servers {
		if server.Config.IsOffered() && s.ResultLimit(&server.Config) > 0 {
			fmt.Fprint(&b, " limited:", server.Config.Alias)
		}
	}
	return b.String()
}

// withoutOutput is the key of a tool's definition without its output schema.
type withoutOutput struct {
	name string
	era  Era
}

// withoutOutputs returns a function like listed whose definitions have no output schema
// where results can be cut, because clients validate results against it.
func (s *Snapshot) withoutOutputs(era Era, listed func(*Tool) []byte) func(*Tool) []byte {
	if !s.LimitsResults() {
		return listed
	}
	return func(t *Tool) []byte {
		definition := listed(t)
		if s.ResultLimitOf(t) == 0 {
			return definition
		}
		o, err := rawjson.ParseObject(definition, rawjson.Lenient)
		if err != nil || o.Get("outputSchema") == nil {
			return definition
		}
		name, _ := o.String("name")
		return Memo(t, withoutOutput{name, era}, func() []byte {
			o.Delete("outputSchema")
			return o.Bytes()
		})
	}
}
