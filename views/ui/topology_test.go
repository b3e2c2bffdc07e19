package ui

import (
	"math"
	"strings"
	"testing"
)

// nodes returns n servers with the calls of each.
func nodes(n, calls int) []TopologyNode {
	list := make([]TopologyNode, n)
	for i := range list {
		list[i] = TopologyNode{Name: "s", URL: "/s", Calls: calls, Tone: OK}
	}
	return list
}

func TestTopologyNodesOfASide(t *testing.T) {
	for _, tt := range []struct {
		servers, drawn int
		more           string
	}{
		{0, 0, ""}, {TopologySide - 1, TopologySide - 1, ""}, {TopologySide, TopologySide, ""},
		{TopologySide + 1, TopologySide + 1, "1 more server"}, {TopologySide + 2, TopologySide + 1, "2 more servers"},
	} {
		p := TopologyProps{Servers: nodes(tt.servers, 5), ServersURL: "/all"}
		for _, drawn := range []topology{p.wide(), p.narrow()} {
			if len(drawn.Servers) != tt.drawn {
				t.Errorf("%d servers: %d nodes, want %d", tt.servers, len(drawn.Servers), tt.drawn)
				continue
			}
			if tt.more == "" {
				continue
			}
			last := drawn.Servers[len(drawn.Servers)-1]
			if last.Name != tt.more || last.URL != "/all" || last.Calls != 5*(tt.servers-TopologySide) {
				t.Errorf("%d servers: last node %q to %s with %d calls", tt.servers, last.Name, last.URL, last.Calls)
			}
		}
	}
}

func TestTopologyFlowWidths(t *testing.T) {
	for _, tt := range []struct {
		name  string
		calls []int
		want  []float64
	}{
		{"no calls", []int{0, 0}, []float64{1.5, 1.5}},
		{"one busy server", []int{1000, 1, 0}, []float64{20, 1.5, 1.5}},
		{"many equal servers", []int{9, 9, 9, 9, 9, 9}, []float64{10, 10, 10, 10, 10, 10}},
		{"half", []int{1000, 500}, []float64{20, 10}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := TopologyProps{Servers: nodes(len(tt.calls), 0)}
			for i, n := range tt.calls {
				p.Servers[i].Calls = n
			}
			sum := 0.0
			for i, b := range p.wide().Servers {
				if math.Abs(b.Stroke-tt.want[i]) > .01 {
					t.Errorf("flow %d is %.1f px wide, want %.1f", i, b.Stroke, tt.want[i])
				}
				sum += b.Stroke + flowGap
			}
			if sum > hubHeight {
				t.Errorf("flows need %.0f px of the project's %.0f px", sum, hubHeight)
			}
		})
	}
}

func TestTopologyNodesStayInside(t *testing.T) {
	for clients := range 12 {
		for servers := range 12 {
			p := TopologyProps{Clients: nodes(clients, 3), Servers: nodes(servers, 2)}
			for _, drawn := range []topology{p.wide(), p.narrow()} {
				for _, side := range [][]topologyBox{drawn.Clients, drawn.Servers} {
					for i, b := range side {
						if b.Y < 20 || b.Y+b.H > drawn.H || b.X+b.W > drawn.W || b.H < 24 {
							t.Fatalf("%d clients, %d servers: node %d at %.0f,%.0f %.0f×%.0f in %.0f×%.0f", clients, servers, i, b.X, b.Y, b.W, b.H, drawn.W, drawn.H)
						}
						if i > 0 && b.Y < side[i-1].Y+side[i-1].H {
							t.Fatalf("%d clients, %d servers: node %d overlaps", clients, servers, i)
						}
					}
				}
			}
		}
	}
}

func TestTopologyEscapesNames(t *testing.T) {
	var html strings.Builder
	p := TopologyProps{Label: "x", Project: "<b>\u202e", Clients: []TopologyNode{{Name: "<i>\u202e", URL: "javascript:alert(1)"}}}
	if err := Topology(p).Render(t.Context(), &html); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"<b>", "<i>", "\u202e", "javascript:"} {
		if strings.Contains(html.String(), bad) {
			t.Errorf("the picture contains %q", bad)
		}
	}
}
