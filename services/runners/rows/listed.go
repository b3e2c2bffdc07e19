package rows

import (
	"context"
	"maps"
	"slices"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/runners"
	"mcpgateway/services/runners/wire"
)

// Limits of a program in a list.
const (
	maxEntry = 200 // bytes of its name
	maxHash  = 64  // bytes
)

// outcome is the result of a list.
type outcome struct {
	programs []program
	ids      map[string]string
	refused  map[string]string
	changes  int64 // Store.changes before it
}

// program is an entry of a list.
type program struct{ name, hash, mode string }

// Listed stores which servers the list of a connected runner declares and
// returns their IDs by entry. Entries of a connector without a server get one;
// entries of this machine's runner get theirs from apply, and are left out
// before. Servers that left the list are hidden when no live replica declares
// them. It returns VALIDATION_FAILED for a list over the limits or with equal names, and NOT_FOUND
// for a deleted project.
//
// An equal list is not stored again unless servers changed. Callers
// call it again when the runner's list or a project's servers change.
func (s *Store) Listed(ctx context.Context, peer runners.Peer, list wire.List) (map[string]string, error) {
	if len(list.Servers) > wire.MaxServers {
		return nil, fault.Validation(map[string]string{"servers": "a runner can have at most 200 servers"})
	}
	programs, named := make([]program, len(list.Servers)), map[string]bool{}
	for i, server := range list.Servers {
		if named[server.Name] {
			return nil, fault.Validation(map[string]string{"servers": "two programs have the same name"})
		}
		named[server.Name] = true
		programs[i] = program{server.Name, server.Hash, server.SessionMode}
	}
	s.mu.Lock()
	last, changes := s.listed[peer], s.changes
	s.mu.Unlock()
	if last.ids == nil || last.changes != changes || !slices.Equal(last.programs, programs) {
		ids, refused, err := s.store(ctx, peer, programs)
		if err != nil {
			return nil, err
		}
		last = outcome{programs, ids, refused, changes}
		s.mu.Lock()
		s.listed[peer] = last
		s.mu.Unlock()
	}
	if peer.Source == models.SourceConnector && s.options.Refused != nil {
		s.options.Refused(peer.ConnectorID, maps.Clone(last.refused))
	}
	return maps.Clone(last.ids), nil
}

// store stores a list. It returns the IDs of its servers by entry, and the
// reasons why entries of a connector got none.
func (s *Store) store(ctx context.Context, peer runners.Peer, programs []program) (ids, refused map[string]string, err error) {
	hashes := map[string]string{}
	err = s.change(ctx, func(c *change) error {
		ids, refused = map[string]string{}, map[string]string{}
		clear(hashes)
		var rows []models.Server
		if err := serversOf(c.tx, peer).Find(&rows).Error; err != nil {
			return err
		}
		if peer.Source == models.SourceConnector {
			if rows, err = c.connect(peer, programs, rows, refused); err != nil {
				return err
			}
		}
		byEntry := map[string]string{}
		for _, row := range rows {
			byEntry[row.Entry] = row.ID
		}
		for _, p := range programs {
			if id, ok := byEntry[p.name]; ok && refused[p.name] == "" {
				ids[p.name], hashes[id] = id, p.hash
			}
		}
		return c.replace(rows, hashes, peer.Source == models.SourceConnector)
	})
	if err != nil {
		return nil, nil, err
	}
	s.keep(scope{source: peer.Source, connectorID: peer.ConnectorID}, hashes)
	return ids, refused, nil
}

// serversOf selects the programs of a runner.
func serversOf(tx *gorm.DB, p runners.Peer) *gorm.DB {
	if p.Source == models.SourceConnector {
		return tx.Where("source = ? AND connector_id = ? AND project_id = ?", p.Source, p.ConnectorID, p.ProjectID)
	}
	return tx.Where("source = ? AND entry <> ''", p.Source)
}

// replace stores hashes as the declarations of this replica of the servers. The list
// of a connector is the same for every replica, so what it lacks is hidden at
// once.
func (c *change) replace(servers []models.Server, hashes map[string]string, only bool) error {
	if err := c.declare(hashes); err != nil {
		return err
	}
	if err := c.withdraw(servers, hashes); err != nil {
		return err
	}
	if only {
		return c.settle(servers, func(row *models.Server) bool { _, ok := hashes[row.ID]; return !ok })
	}
	live, err := c.live(servers)
	if err != nil {
		return err
	}
	return c.settle(servers, func(row *models.Server) bool { return !live[row.ID] })
}

// Declare stores which servers with a URL the files of this process declare, by
// ID. The hashes may be empty. Others of such files are hidden when no live
// replica declares them.
func (s *Store) Declare(ctx context.Context, hashes map[string]string) error {
	kept := map[string]string{}
	err := s.change(ctx, func(c *change) error {
		var rows []models.Server
		if err := c.tx.Find(&rows, "source = ? AND entry = ''", models.SourceLocal).Error; err != nil {
			return err
		}
		clear(kept)
		for _, row := range rows {
			if hash, ok := hashes[row.ID]; ok {
				kept[row.ID] = hash
			}
		}
		return c.replace(rows, kept, false)
	})
	if err == nil {
		s.keep(scope{source: models.SourceLocal, urls: true}, kept)
	}
	return err
}

// Gone deletes the declarations that a connector made at this replica. Its
// servers keep their state: they are offline, not undeclared.
func (s *Store) Gone(ctx context.Context, peer runners.Peer) error {
	s.mu.Lock()
	delete(s.listed, peer)
	s.mu.Unlock()
	s.keep(scope{source: peer.Source, connectorID: peer.ConnectorID}, nil)
	err := s.options.DB.WithContext(ctx).
		Delete(&models.Declaration{}, "replica_id = ? AND server_id IN (SELECT id FROM servers WHERE connector_id = ?)", s.replica, peer.ConnectorID).Error
	if err != nil {
		return fault.Internal(err)
	}
	return nil
}
