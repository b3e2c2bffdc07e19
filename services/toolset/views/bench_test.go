package views

import (
	"fmt"
	"testing"

	"mcpgateway/models"
	"mcpgateway/services/toolset"
	"mcpgateway/services/upstream"
)

// BenchmarkFirstUse measures the first use of a view of a project with 5,000
// tools, after an earlier view was used ("view") and without one ("project").
func BenchmarkFirstUse(b *testing.B) {
	patterns := make([]string, 500)
	for i := range patterns {
		patterns[i] = fmt.Sprintf("*__delete_%d_*", i)
	}
	for name, row := range map[string]models.Toolset{
		"server":   {Query: "server:server7 readonly:true"},
		"name":     {Query: "name:list -destructive:true"},
		"param":    {Query: "param:limit -name:delete"},
		"patterns": {Query: "readonly:true", Include: []string{"server1__*"}, Exclude: patterns},
	} {
		row.OffersOf = []string{"*"}
		b.Run(name+"/project", func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				project := largeProject()
				b.StartTimer()
				Preview(project, &row)
			}
		})
		b.Run(name+"/view", func(b *testing.B) {
			project := largeProject()
			Preview(project, &row)
			for b.Loop() {
				Preview(project, &row)
			}
		})
	}
}

// largeProject returns a project with 50 servers of 100 tools.
func largeProject() *toolset.Snapshot {
	src := toolset.Source{Project: models.Project{ID: "p", Slug: "p"}, Tools: map[string][]models.Tool{}, Inventories: map[string]*models.Inventory{}}
	verbs := []string{"list", "get", "create", "update", "delete"}
	for s := range 50 {
		id := fmt.Sprintf("server%d", s)
		src.Servers = append(src.Servers, models.Server{ID: id, Alias: id, Enabled: true})
		for i := range 100 {
			name := fmt.Sprintf("%s_%d_records", verbs[i%5], i)
			src.Tools[id] = append(src.Tools[id], models.Tool{ServerID: id, Name: name, Position: i, DefinitionHash: name, Definition: fmt.Sprintf(
				`{"name":%q,"title":"Work with records %d","description":"Works with the records of a table, by page. Every page has the number of the next one, and the sum of all rows.","annotations":{"readOnlyHint":%t},"inputSchema":{"type":"object","properties":{"table":{"type":"string","description":"the name of the table"},"limit":{"type":"integer","description":"how many rows a page has"},"filter":{"type":"object","properties":{"column":{"type":"string"},"value":{"type":"string"}}}},"required":["table"]}}`,
				name, i, i%5 < 2)})
		}
	}
	return toolset.Rebuild(nil, src, func(models.Server) *upstream.Target { return nil })
}
