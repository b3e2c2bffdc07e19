package inventory

import (
	"context"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/runners/wire"
)

// Programs are the programs of the connected runners. Implemented by
// runners.Runners.
type Programs interface {
	// State returns the hash of the command of a server's program and its state.
	// known is false if this process has no connection to its runner.
	State(serverID string) (hash string, state wire.State, known bool)
	// StartTime returns the maximum time of a program's start, and 0 if it is not
	// known.
	StartTime(serverID string) time.Duration
	// IsExpected reports whether the runner of a program is about to connect.
	IsExpected(row models.Server) bool
}

// mayRead reports whether a planned sync may read the lists of a server. It must
// not start a program whose lists are known: their stored state is shown until
// the program runs or its command changes.
func (s *Syncer) mayRead(ctx context.Context, serverID string) (bool, error) {
	var row models.Server
	err := s.DB.WithContext(ctx).Select("id", "entry", "listed_hash").Limit(1).Find(&row, "id = ?", serverID).Error
	if err != nil {
		return false, fault.Internal(err)
	}
	if !row.IsProgram() {
		return true, nil
	}
	hash, state, known := s.program(serverID)
	switch {
	case !known:
		return false, nil
	case state == wire.StateRunning:
		return true, nil
	}
	reads := row.ListedHash != hash && (state == wire.StateStopped || state == wire.StateStarting)
	if !reads {
		s.first.end(serverID)
	}
	return reads, nil
}

// program returns the state of a server's program.
func (s *Syncer) program(serverID string) (hash string, state wire.State, known bool) {
	if s.Programs == nil {
		return "", "", false
	}
	return s.Programs.State(serverID)
}

// ProgramChanged schedules a sync of a server whose program has another state or
// command. Its watch begins and ends with the program.
func (s *Syncer) ProgramChanged(serverID string) { s.schedule.due(serverID) }

// runningOf returns the servers of which neither is a program that does not run:
// a watch would start it.
func (s *Syncer) runningOf(servers map[string]*models.Server) map[string]*models.Server {
	for id, server := range servers {
		if !server.IsProgram() {
			continue
		}
		if _, state, _ := s.program(id); state != wire.StateRunning {
			delete(servers, id)
		}
	}
	return servers
}

// syncTime returns the timeout of one sync of a server.
func (s *Syncer) syncTime(serverID string) time.Duration {
	if s.Programs == nil {
		return SyncTimeout
	}
	return SyncTimeout + s.Programs.StartTime(serverID)
}

// storeHash stores that the lists of a program with this hash were read.
func storeHash(tx *gorm.DB, server *models.Server, hash string) error {
	if hash == "" || hash == server.ListedHash {
		return nil
	}
	server.ListedHash = hash
	return tx.Model(&models.Server{}).Where("id = ?", server.ID).UpdateColumn("listed_hash", hash).Error
}
