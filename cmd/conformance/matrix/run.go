package matrix

import (
	"context"
	"errors"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"mcpgateway/cmd/conformance/stage"
	"mcpgateway/services/upstream/upstreamtest"
)

const (
	project = "matrix"
	// operationLimit bounds one operation.
	operationLimit = 10 * time.Second
)

// Options describe a run.
type Options struct {
	Root    string // of the module
	Gateway string // an existing binary; it is built when empty
	Folder  string // for everything that the run writes
}

// State is what an operation showed.
type State uint8

// The states.
const (
	Works State = iota
	Impossible
	Fails
)

// Cell is one operation of one client with one upstream.
type Cell struct {
	Client    string
	Upstream  string
	Operation Operation
	State     State
	Reason    string // unless it works
}

// Run starts an upstream of every revision and a gateway before them, and
// returns every cell. The error says what kept it from running.
func Run(ctx context.Context, o Options) ([]Cell, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	eras := upstreamtest.AllEras()
	servers := map[string]stage.Server{}
	upstreams := make([]*upstreamtest.Server, len(eras))
	var aliases []string
	for i, era := range eras {
		upstreams[i] = newUpstream(era)
		defer upstreams[i].Close()
		url, err := upstreams[i].Listen(ctx, "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		aliases = append(aliases, aliasOf(era))
		servers[aliasOf(era)] = stage.Server{URL: url, Transport: "auto"}
	}
	binary := o.Gateway
	if binary == "" {
		var err error
		if binary, err = stage.Build(ctx, o.Root, o.Folder, "gateway", stage.GatewayPackage); err != nil {
			return nil, err
		}
	}
	gateway, err := stage.StartGateway(ctx, binary, o.Folder, map[string]stage.Project{project: {AuthMode: "none", Servers: servers}})
	if err != nil {
		return nil, err
	}
	defer gateway.Stop()
	if err := gateway.AwaitTools(ctx, project, "", aliases...); err != nil {
		return nil, err
	}
	columns := make([][]Cell, len(eras))
	var group errgroup.Group
	for i, era := range eras {
		group.Go(func() error {
			for _, client := range clientEras() {
				columns[i] = append(columns[i], visit(ctx, &pair{
					alias: aliasOf(era), upstream: upstreams[i],
					caller: newCaller(client, gateway),
				}, era)...)
			}
			return nil
		})
	}
	_ = group.Wait() // what fails is told in the cells
	var cells []Cell
	for _, column := range columns {
		cells = append(cells, column...)
	}
	return cells, ctx.Err()
}

func newCaller(era string, gateway *stage.Gateway) *caller {
	return &caller{
		era: era, endpoint: gateway.Endpoint(project), bridge: gateway.Bridge(project),
		http: &http.Client{Transport: &http.Transport{}},
	}
}

// visit runs every operation of a pair.
func visit(ctx context.Context, p *pair, era upstreamtest.Era) []Cell {
	defer p.http.CloseIdleConnections()
	opened := within(ctx, p.open)
	var cells []Cell
	for _, o := range Operations() {
		cell := Cell{Client: p.era, Upstream: string(era), Operation: o, Reason: impossible(p.era, era, o)}
		err := opened
		switch {
		case err != nil:
		case cell.Reason == "":
			err = within(ctx, func(ctx context.Context) error { return p.run(ctx, o) })
		case o == Elicit && deaf(p.era) != "":
			err = within(ctx, p.staysUnasked)
		}
		switch {
		case errors.Is(err, errNotOffered):
			cell.State, cell.Reason = Impossible, err.Error()
		case err != nil:
			cell.State, cell.Reason = Fails, err.Error()
		case cell.Reason != "":
			cell.State = Impossible
		}
		cells = append(cells, cell)
	}
	return cells
}

// within runs one operation within its time.
func within(ctx context.Context, run func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, operationLimit)
	defer cancel()
	return run(ctx)
}
