package measure

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"mcpgateway/cmd/bench/load"
	"mcpgateway/cmd/internal/stage"
)

// ScalePlan configures RunScale.
type ScalePlan struct {
	Servers        int           `json:"servers"` // in one project
	ToolsPerServer int           `json:"toolsPerServer"`
	Streams        int           `json:"streams"`  // sessions with an event stream each
	Tools          int           `json:"tools"`    // of one server
	Rows           int           `json:"rows"`     // of the catalog
	Duration       time.Duration `json:"duration"` // of one run
	Settle         time.Duration `json:"settle"`   // before memory is read
	Starts         int           `json:"starts"`
	Times          int           `json:"times"` // measurements per size
}

// ScaleReport is the result of RunScale.
type ScaleReport struct {
	Plan    ScalePlan `json:"plan"`
	Start   Start     `json:"start"`
	Growths []Growth  `json:"growths"`
}

// runner runs the measurements of a plan.
type runner struct {
	Programs
	ScalePlan
	gateways int
}

// listLimit is the timeout for syncing all servers.
const listLimit = 5 * time.Minute

// RunScale measures startup and growth. It skips measurements whose size in the
// plan is 0.
func RunScale(ctx context.Context, b Programs, p ScalePlan, progress func(string)) (*ScaleReport, error) {
	r := &runner{Programs: b, ScalePlan: p}
	all := &ScaleReport{Plan: p}
	var err error
	if p.Starts > 0 {
		progress("start")
		if all.Start, err = r.start(ctx); err != nil {
			return nil, fmt.Errorf("start: %w", err)
		}
	}
	for _, g := range []struct {
		of   string
		size int
		read func(context.Context, int) ([]Reading, error)
	}{
		{fmt.Sprintf("servers with %d tools each in one project", p.ToolsPerServer), p.Servers, r.servers},
		{"sessions with an idle event stream", p.Streams, r.streams},
		{"tools on one server", p.Tools, r.tools},
		{"catalog rows", p.Rows, r.catalog},
	} {
		if g.size == 0 {
			continue
		}
		growth, err := Grow(ctx, g.of, Sizes(g.size), p.Times, progress, g.read)
		if err != nil {
			return nil, err
		}
		all.Growths = append(all.Growths, growth)
	}
	return all, nil
}

// Tables returns a table of startup and one per growth.
func (r *ScaleReport) Tables() []Table {
	var tables []Table
	if r.Plan.Starts > 0 {
		tables = append(tables, r.Start.Table())
	}
	for i := range r.Growths {
		tables = append(tables, r.Growths[i].Table())
	}
	return tables
}

// home returns a new data folder for a gateway.
func (r *runner) home(env ...string) (*stage.Home, error) {
	r.gateways++
	return stage.NewHome(r.Gateway, filepath.Join(r.Folder, "scale-"+strconv.Itoa(r.gateways)), env...)
}

// resident returns the resident memory of a process in MiB after it has settled.
func (r *runner) resident(ctx context.Context, g *stage.Gateway) (float64, error) {
	if err := stage.Pause(ctx, r.Settle); err != nil {
		return 0, err
	}
	m, err := MemoryOf(g.PID())
	return mib(m.Now), err
}

// fixture is a gateway with one project whose servers are all synced.
type fixture struct {
	gateway  *stage.Gateway
	upstream *Child
	keys     []string
	listed   time.Duration // from ready until all tools were listed
}

func (s *fixture) stop() {
	s.gateway.Stop()
	s.upstream.Stop()
}

// fixture starts a gateway with the given number of servers, each with the given
// number of tools, and the given number of keys.
func (r *runner) stand(ctx context.Context, servers, tools, keys int) (*fixture, error) {
	upstream, err := StartChild(ctx, r.Self, r.Folder, "upstream", "-servers", strconv.Itoa(servers), "-tools", strconv.Itoa(tools))
	if err != nil {
		return nil, err
	}
	s := &fixture{upstream: upstream}
	if err := r.serve(ctx, s, servers, keys); err != nil {
		upstream.Stop()
		return nil, err
	}
	if err := s.awaitTools(ctx, servers*tools+builtIn); err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

// awaitTools waits until all tools are listed. It polls less and less often, so
// that polling costs little compared with the sync.
func (s *fixture) awaitTools(ctx context.Context, tools int) error {
	c, err := s.client(ctx, 0, 0)
	if err != nil {
		return err
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(ctx, listLimit)
	defer cancel()
	for {
		listed, _, err := c.List()
		if err != nil {
			return err
		}
		if s.listed = time.Since(s.gateway.Ready); listed == tools {
			return nil
		}
		if err := stage.Pause(ctx, min(10*time.Millisecond+s.listed/10, time.Second)); err != nil {
			return fmt.Errorf("%d of %d tools listed after %v: %w", listed, tools, listLimit, err)
		}
	}
}

func (r *runner) serve(ctx context.Context, s *fixture, servers, keys int) error {
	// All connections of the benchmark come from one address.
	home, err := r.home("GATEWAY_MAX_CONNECTIONS_PER_ADDRESS=10000")
	if err != nil {
		return err
	}
	urls := map[string]string{}
	for n := range servers {
		urls[aliasOf(n)] = "http://" + s.upstream.Address + UpstreamPath(n)
	}
	if err := home.Apply(ctx, map[string]stage.Project{project: stage.KeyedProject(urls)}); err != nil {
		return err
	}
	for range keys {
		key, err := home.Key(ctx, project)
		if err != nil {
			return err
		}
		s.keys = append(s.keys, key)
	}
	s.gateway, err = home.Serve(ctx)
	return err
}

func aliasOf(server int) string { return "s" + strconv.Itoa(server) }

// client opens a client that calls the echo tool of a server.
func (s *fixture) client(ctx context.Context, key, server int) (*load.Client, error) {
	return load.Open(ctx, load.Endpoint{
		Address: s.gateway.Address, Path: stage.ProjectPath(project), Key: s.keys[key], Revision: load.Sessions, Tool: aliasOf(server) + "__echo",
	}, key)
}
