package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"mcpgateway/cmd/bench/load"
	"mcpgateway/cmd/bench/measure"
	"mcpgateway/cmd/internal/stage"
)

// options are the flags shared by the measuring commands.
type options struct {
	gateway        string
	json, markdown bool
}

func (o *options) add(fs *flag.FlagSet) {
	fs.StringVar(&o.gateway, "gateway", "", "gateway `binary`; built if empty")
	fs.BoolVar(&o.json, "json", false, "print all measurements as JSON")
	fs.BoolVar(&o.markdown, "markdown", false, "print the tables as Markdown")
}

// programs returns the programs to measure. remove deletes their data folder.
func (o *options) programs(ctx context.Context) (p measure.Programs, remove func(), err error) {
	if p.Folder, err = os.MkdirTemp("", "bench-"); err != nil {
		return p, nil, err
	}
	remove = func() { os.RemoveAll(p.Folder) }
	defer func() {
		if err != nil {
			remove()
		}
	}()
	if p.Self, err = os.Executable(); err != nil {
		return p, nil, err
	}
	if o.gateway != "" {
		p.Gateway, err = filepath.Abs(o.gateway)
		return p, remove, err
	}
	p.Gateway, err = stage.Build(ctx, p.Folder, "gateway", stage.GatewayPackage)
	return p, remove, err
}

// print writes the measurements in the format that the flags select.
func (o *options) print(w io.Writer, m measure.Machine, measured any, tables []measure.Table) error {
	if o.json {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return encoder.Encode(map[string]any{"machine": m, "measured": measured})
	}
	if _, err := fmt.Fprintf(w, "%s\n\n", m); err != nil {
		return err
	}
	for i := range tables {
		write := tables[i].WriteText
		if o.markdown {
			write = tables[i].WriteMarkdown
		}
		if err := write(w); err != nil {
			return err
		}
		if _, err := fmt.Fprintln(w); err != nil {
			return err
		}
	}
	return nil
}

// planFlags adds the flags of a side-by-side comparison.
func planFlags(fs *flag.FlagSet) *measure.CallPlan {
	p := &measure.CallPlan{Connections: []int{1, 8, 64}, RateConnections: 8}
	fs.Func("c", "numbers of `connections`, separated by commas (default 1,8,64)", func(s string) error {
		p.Connections = nil
		for part := range strings.SplitSeq(s, ",") {
			n, err := strconv.Atoi(part)
			if err != nil || n < 1 {
				return fmt.Errorf("invalid number of connections %q", part)
			}
			p.Connections = append(p.Connections, n)
		}
		return nil
	})
	fs.IntVar(&p.Rounds, "rounds", 5, "number of rounds; each measures every target once")
	fs.DurationVar(&p.Duration, "d", 2*time.Second, "duration of one run")
	fs.DurationVar(&p.Warmup, "warmup", time.Second, "duration of the unmeasured run before the first round")
	fs.Float64Var(&p.Rate, "rate", 1500, "calls per second of the open loop; 0 skips it")
	fs.BoolVar(&p.Ways, "ways", true, "also measure https, event streams, large results and latency")
	fs.StringVar(&p.Revision, "revision", load.Sessions, "MCP `revision` of the clients: "+load.Sessions+" or "+load.Stateless)
	fs.StringVar(&p.Upstream, "upstream", "", "listen `address` of the upstream server (default: a free port)")
	fs.Func("other", "`URL` of another gateway's endpoint for the same upstream server, measured as well", func(s string) error {
		u, err := url.Parse(s)
		if err != nil || u.Scheme != "http" || u.Port() == "" {
			return errors.New("must be http://HOST:PORT/PATH")
		}
		other(p).Endpoint.Address, p.Other.Endpoint.Path = u.Host, u.RequestURI()
		return nil
	})
	fs.Func("other-tool", "`name` of the echo tool there (default echo)", func(s string) error { other(p).Endpoint.Tool = s; return nil })
	fs.Func("other-key", "bearer `token` for the other gateway", func(s string) error { other(p).Endpoint.Key = s; return nil })
	fs.Func("other-pid", "process `id` of the other gateway", func(s string) (err error) { other(p).PID, err = strconv.Atoi(s); return err })
	return p
}

// other returns the other gateway of a plan. It adds one if there is none.
func other(p *measure.CallPlan) *measure.Target {
	if p.Other == nil {
		p.Other = &measure.Target{Name: measure.Other, Endpoint: load.Endpoint{Tool: "echo"}}
	}
	return p.Other
}

// checkPlan returns an error if a flag of planFlags is invalid.
func checkPlan(p *measure.CallPlan) error {
	switch {
	case p.Rounds < 1 || p.Duration <= 0 || p.Warmup <= 0:
		return errors.New("-rounds, -d and -warmup must be positive")
	case p.Rate < 0 || p.Rate > 1e6:
		return errors.New("-rate must be between 0 and 1000000")
	case p.Other != nil && (p.Other.Endpoint.Address == "" || p.Other.PID < 1 || p.Upstream == ""):
		return errors.New("-other requires -other-pid and -upstream; -other-tool, -other-key and -other-pid require -other")
	case p.Revision != load.Sessions && p.Revision != load.Stateless:
		return fmt.Errorf("-revision must be %s or %s", load.Sessions, load.Stateless)
	}
	return nil
}
