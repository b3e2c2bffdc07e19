package toolsearch_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"mcpgateway/models"
	"mcpgateway/services/toolsearch/ranking"
	"mcpgateway/services/toolset"
)

// syntheticTools returns n tools of about 60 words each, with word frequencies
// like those of a natural language.
func syntheticTools(n int) []*toolset.Tool {
	r := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(r, 1.3, 8, 30_000)
	word := func() string {
		k := zipf.Uint64()
		var b strings.Builder
		for i := 0; i < 2 || k > 0; i++ {
			b.WriteByte("bcdfghklmnprstvw"[k%16])
			b.WriteByte("aeiou"[k/16%5])
			k /= 80
		}
		return b.String()
	}
	words := func(n int) string {
		out := make([]string, n)
		for i := range out {
			out[i] = word()
		}
		return strings.Join(out, " ")
	}
	var server *toolset.Server
	tools := make([]*toolset.Tool, n)
	for i := range tools {
		if i%40 == 0 {
			server = &toolset.Server{Config: models.Server{Alias: fmt.Sprintf("%s-%d", word(), i/40), Enabled: true}}
		}
		name := fmt.Sprintf("%s_%s_%d", word(), word(), i)
		tools[i] = &toolset.Tool{
			Name: toolset.JoinName(server.Config.Alias, name), FullName: toolset.JoinName(server.Config.Alias, name), Upstream: name, Server: server, Hash: name,
			Definition: fmt.Appendf(nil, `{"name":%q,"description":%q,"inputSchema":{"type":"object","properties":{%q:{"type":"string","description":%q},%q:{"type":"string","description":%q},"limit":{"type":"integer","description":"how many %s"}},"required":["limit"]}}`,
				name, words(25), word(), words(8), word(), words(8), words(6)),
		}
	}
	return tools
}

func benchmarkTasks() []string {
	var tasks []string
	for _, t := range syntheticTools(64) {
		text := string(t.Definition)
		tasks = append(tasks, text[strings.Index(text, `"description":"`)+15:][:120]+", then mistypped wrods more. Also "+text[len(text)-200:len(text)-120])
	}
	return tasks
}

func BenchmarkRank(b *testing.B) {
	tasks := benchmarkTasks()
	for _, n := range []int{5_000, 50_000} {
		x := ranking.Build(syntheticTools(n))
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if _, total := x.Rank(tasks[i%len(tasks)], "", 20); total == 0 {
					b.Fatal("nothing was found")
				}
			}
		})
	}
}

func BenchmarkBuild(b *testing.B) {
	for _, n := range []int{5_000, 50_000} {
		tools := syntheticTools(n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				ranking.Build(tools)
			}
		})
	}
}

func BenchmarkQuery(b *testing.B) {
	for _, n := range []int{5_000, 50_000} {
		f := newFixture("bench")
		perServer := map[string][]string{}
		var aliases []string
		for _, t := range syntheticTools(n) {
			alias := t.Server.Config.Alias
			if perServer[alias] == nil {
				aliases = append(aliases, alias)
			}
			perServer[alias] = append(perServer[alias], string(t.Definition))
		}
		for _, alias := range aliases {
			f.server(alias, nil, perServer[alias]...)
		}
		s, project := newSearcher(b), f.snapshot()
		byQuery(b, s, project, `{"query":"the first one reads the texts"}`)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				byQuery(b, s, project, `{"query":"bebaca -cabe readonly:false"}`)
			}
		})
	}
}
