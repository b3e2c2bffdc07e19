package toolstate

import (
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"mcpgateway/models"
	"mcpgateway/services/toolset"
)

// storedTool is a stored tool with the exported names that it has without and
// with its override. as is empty if it isn't renamed.
type storedTool struct {
	models.Tool
	own, as string
	recipe  bool // it has no row in tools
}

// toolFinder finds the tools of a project by their exported names. It caches the
// servers.
type toolFinder struct {
	tx      *gorm.DB
	project string
	servers map[string]*namedServer // by alias; nil for an unknown one
}

// namedServer is a server with the own names of its tools by those that its
// overrides give them; nil if they are equal.
type namedServer struct {
	id        string
	overrides models.ToolOverrides
	own       map[string]string
}

func newToolFinder(tx *gorm.DB, projectID string) *toolFinder {
	return &toolFinder{tx: tx, project: projectID, servers: map[string]*namedServer{}}
}

// find returns the tool with an exported name, or nil. clauses apply to its row.
func (f *toolFinder) find(name string, clauses ...clause.Expression) (*storedTool, error) {
	alias, local, _ := toolset.SplitName(name)
	if alias == toolset.GatewayAlias {
		return f.recipe(local)
	}
	server, err := f.server(alias)
	if server == nil || err != nil {
		return nil, err
	}
	own := local
	if server.own != nil {
		own = server.own[local]
	}
	t := &storedTool{own: toolset.JoinName(alias, own)}
	found := f.tx.Clauses(clauses...).Limit(1).Find(&t.Tool, "server_id = ? AND name = ?", server.id, own)
	if found.Error != nil || found.RowsAffected == 0 {
		return nil, found.Error
	}
	if as := server.overrides[own].As; as != "" {
		t.as = toolset.JoinName(alias, as)
	}
	return t, nil
}

// recipe returns the tool of the recipe with the name, or nil.
func (f *toolFinder) recipe(name string) (*storedTool, error) {
	var stored int64
	if err := f.tx.Model(&models.Recipe{}).Where("project_id = ? AND name = ?", f.project, name).Count(&stored).Error; err != nil || stored == 0 {
		return nil, err
	}
	return &storedTool{own: toolset.RecipeName(name), recipe: true}, nil
}

func (f *toolFinder) server(alias string) (*namedServer, error) {
	if server, known := f.servers[alias]; known {
		return server, nil
	}
	f.servers[alias] = nil
	var row models.Server
	found := f.tx.Limit(1).Find(&row, "project_id = ? AND alias = ?", f.project, alias)
	if found.Error != nil || found.RowsAffected == 0 {
		return nil, found.Error
	}
	server := &namedServer{id: row.ID, overrides: row.ToolOverrides}
	if toolset.Renames(row.ToolOverrides) {
		var tools []models.Tool
		if err := f.tx.Select("name").Order("position, name").Find(&tools, "server_id = ?", row.ID).Error; err != nil {
			return nil, err
		}
		server.own = toolset.OwnNames(row.ToolOverrides, tools)
	}
	f.servers[alias] = server
	return server, nil
}
