//go:build conformance

package matrix

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"mcpgateway/cmd/internal/stage"
	"mcpgateway/services/background/leaktest"
	"mcpgateway/services/upstream/upstreamtest"
)

const (
	project = "matrix"
	// operationLimit is the timeout of one operation.
	operationLimit = 30 * time.Second
)

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == relayArgument {
		relay(os.Args[2])
		return
	}
	leaktest.Main(m)
}

// TestMatrix tests every upstream revision with every client generation, over HTTP
// and as local programs. A client without elicitation must not receive a request for
// input; upstreams without elicitation have no test of it.
func TestMatrix(t *testing.T) {
	binary, err := stage.Build(t.Context(), t.TempDir(), "gateway", stage.GatewayPackage)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("http", func(t *testing.T) {
		testMatrix(t, binary, func(t *testing.T, upstream *upstreamtest.Server) stage.Server {
			return stage.Server{URL: upstream.Start(t)}
		})
	})
	t.Run("stdio", func(t *testing.T) { testMatrix(t, binary, program) })
}

// testMatrix serves an upstream of each revision as serve does, and tests all pairs.
func testMatrix(t *testing.T, binary string, serve func(*testing.T, *upstreamtest.Server) stage.Server) {
	eras := upstreamtest.AllEras()
	servers := map[string]stage.Server{}
	upstreams := make([]*upstreamtest.Server, len(eras))
	var aliases []string
	for i, era := range eras {
		upstreams[i] = newUpstream(era)
		servers[aliasOf(era)] = serve(t, upstreams[i])
		aliases = append(aliases, aliasOf(era))
	}
	gateway := startGateway(t, binary, servers)
	if err := gateway.AwaitTools(t.Context(), project, "", aliases...); err != nil {
		t.Fatal(err)
	}
	for i, era := range eras {
		t.Run("upstream "+string(era), func(t *testing.T) {
			t.Parallel()
			var pairs []*pair
			for _, client := range clientEras() {
				p := &pair{alias: aliasOf(era), upstream: upstreams[i], caller: newCaller(client, gateway)}
				pairs = append(pairs, p)
				t.Run("client "+client, func(t *testing.T) { visit(t, p, era) })
			}
			// Questions and log messages of a program within a minute of a cancelled
			// call could belong to that call, so that cancellations come last.
			for _, p := range pairs {
				t.Run("client "+p.era+" cancels", func(t *testing.T) { within(t, p.cancel) })
				p.http.CloseIdleConnections()
			}
		})
	}
}

// startGateway starts a gateway with one project.
func startGateway(t *testing.T, binary string, servers map[string]stage.Server) *stage.Gateway {
	t.Helper()
	home, err := stage.NewHome(binary, filepath.Join(t.TempDir(), "home"))
	if err != nil {
		t.Fatal(err)
	}
	if err := home.Declare(map[string]stage.Project{project: {AuthMode: "none", Servers: servers}}); err != nil {
		t.Fatal(err)
	}
	gateway, err := home.Serve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(gateway.Stop)
	return gateway
}

func newCaller(era string, gateway *stage.Gateway) *caller {
	return &caller{
		era: era, endpoint: gateway.Endpoint(project), bridge: gateway.Bridge(project),
		http: &http.Client{Transport: &http.Transport{}},
	}
}

// visit runs all operations of a pair.
func visit(t *testing.T, p *pair, era upstreamtest.Era) {
	within(t, p.open)
	for _, o := range append(operations(), extensionOperations()...) {
		if o.applies != nil && !o.applies(p.era, era) {
			continue
		}
		run := o.run
		if o.name == elicit && !takesInput(p.era) {
			run = (*pair).staysUnasked
		} else if o.name == elicit && !canElicit(era) {
			continue
		}
		t.Run(o.name, func(t *testing.T) {
			within(t, func(ctx context.Context) error { return run(p, ctx) })
		})
	}
}

// within runs an operation with operationLimit as its timeout.
func within(t *testing.T, run func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), operationLimit)
	defer cancel()
	if err := run(ctx); err != nil {
		t.Fatal(err)
	}
}
