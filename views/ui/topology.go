package ui

import (
	"math"
	"strconv"
	"strings"
)

// TopologyProps describe a picture of the traffic from clients through a project
// to servers.
type TopologyProps struct {
	Label            string // what the picture shows, in words
	Project          string
	Facts            []string // below the name of the project, at most two
	Clients, Servers []TopologyNode
	ClientsURL       string // of all clients
	ServersURL       string // of all servers
}

// TopologyNode is a client or a server. Its flow is as wide as its calls.
type TopologyNode struct {
	Name  string
	Sub   string // facts, such as "4.8k · 120 ms"
	URL   string
	Icon  string // may be empty
	Calls int
	Tone  Tone // OK, Warn, Bad (a dashed flow), or Neutral for idle
}

// TopologySide is the maximum number of nodes on a side of a topology.
const TopologySide = 8

// Sizes of a topology.
const (
	minFlow       = 1.5  // pixels
	maxFlow       = 20.0 // pixels
	allFlows      = 60.0 // pixels of all flows of a side
	flowGap       = 3.0
	topologyTop   = 26.0
	hubHeight     = 92.0
	minTopology   = 3 // rows, so that the project fits
	clientNames   = 14
	serverNames   = 13
	projectNames  = 15
	phoneProjects = 13
)

// topologyBox is a node at its place.
type topologyBox struct {
	TopologyNode
	X, Y, W, H float64
	Stroke     float64
	Path       string
	more       bool // stands for the nodes that are not shown
}

// topology is a drawn TopologyProps.
type topology struct {
	W, H             float64
	HubX, HubY, HubW float64
	Clients, Servers []topologyBox
	names            int // letters of a server's name
}

// wide returns the picture for wide windows: clients, project, servers.
func (p TopologyProps) wide() topology {
	t := topology{W: 640, HubX: 234, HubW: 120, names: serverNames}
	clients, servers := capped(p.Clients, p.ClientsURL, "client"), capped(p.Servers, p.ServersURL, "server")
	rows := max(minTopology, len(servers), len(clients))
	t.H = topologyTop + float64(rows)*42 + 4
	middle := topologyTop + float64(rows)*21 - 4
	t.HubY = middle - hubHeight/2
	scale := flowScale(clients, servers)
	t.Clients = column(clients, 1, 138, middle, min(62, float64(rows)*42/float64(max(1, len(clients)))), 40)
	t.Servers = column(servers, 449, 190, middle, 42, 34)
	flows(t.Clients, scale, middle, func(b *topologyBox, at float64) { b.Path = curve(b.X+b.W, b.Y+b.H/2, t.HubX, at) })
	flows(t.Servers, scale, middle, func(b *topologyBox, at float64) { b.Path = curve(t.HubX+t.HubW, at, b.X, b.Y+b.H/2) })
	return t
}

// narrow returns the picture for narrow windows: project and servers.
func (p TopologyProps) narrow() topology {
	t := topology{W: 326, HubX: 1, HubW: 92, names: serverNames - 1}
	servers := capped(p.Servers, p.ServersURL, "server")
	rows := max(minTopology, len(servers))
	t.H = topologyTop + float64(rows)*46 + 6
	middle := topologyTop + float64(rows)*23 - 4
	t.HubY = middle - hubHeight/2
	t.Servers = column(servers, 139, 186, middle, 46, 37)
	flows(t.Servers, flowScale(servers, nil)*.65, middle, func(b *topologyBox, at float64) { b.Path = curve(t.HubX+t.HubW, at, b.X, b.Y+b.H/2) })
	return t
}

// capped returns at most TopologySide nodes, and one for the others.
func capped(nodes []TopologyNode, url, noun string) []topologyBox {
	var boxes []topologyBox
	for _, n := range nodes[:min(len(nodes), TopologySide)] {
		boxes = append(boxes, topologyBox{TopologyNode: n})
	}
	rest := nodes[len(boxes):]
	if len(rest) == 0 {
		return boxes
	}
	more := topologyBox{TopologyNode: TopologyNode{Name: Plural(len(rest), "more "+noun, "more "+noun+"s"), URL: url, Tone: Neutral}, more: true}
	for _, n := range rest {
		more.Calls += n.Calls
		if n.Calls > 0 {
			more.Tone = OK
		}
	}
	return append(boxes, more)
}

// column places boxes below each other around the middle.
func column(boxes []topologyBox, x, width, middle, pitch, height float64) []topologyBox {
	height = min(height, pitch-8)
	top := middle - pitch*float64(len(boxes))/2 + (pitch-height)/2
	for i := range boxes {
		b := &boxes[i]
		b.X, b.Y, b.W, b.H = x, top+float64(i)*pitch, width, height
	}
	return boxes
}

// flowScale returns the pixels of a call, so that no flow and no side is too
// wide.
func flowScale(sides ...[]topologyBox) float64 {
	scale := math.Inf(1)
	for _, side := range sides {
		most, total := 0, 0
		for _, b := range side {
			most, total = max(most, b.Calls), total+b.Calls
		}
		if total > 0 {
			scale = min(scale, maxFlow/float64(most), allFlows/float64(total))
		}
	}
	if math.IsInf(scale, 1) {
		return 0
	}
	return scale
}

// flows sets the widths of flows and calls draw with their places at the project.
func flows(boxes []topologyBox, scale, middle float64, draw func(b *topologyBox, at float64)) {
	sum := flowGap * float64(len(boxes)-1)
	for i := range boxes {
		boxes[i].Stroke = min(maxFlow, max(minFlow, scale*float64(boxes[i].Calls)))
		sum += boxes[i].Stroke
	}
	at := middle - sum/2
	for i := range boxes {
		draw(&boxes[i], at+boxes[i].Stroke/2)
		at += boxes[i].Stroke + flowGap
	}
}

// curve returns the path between two points with horizontal ends.
func curve(x0, y0, x1, y1 float64) string {
	bend := (x1 - x0) * .48
	return "M" + num(x0) + " " + num(y0) + "C" + num(x0+bend) + " " + num(y0) + " " + num(x1-bend) + " " + num(y1) + " " + num(x1) + " " + num(y1)
}

// num returns a coordinate with at most one decimal.
func num(v float64) string { return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64) }

// flow returns the class of the node's flow.
func (b topologyBox) flow() string {
	if b.Tone == OK && b.Calls == 0 {
		return "idle"
	}
	return b.point()
}

// point returns the class of the node's state.
func (b topologyBox) point() string { return or(string(b.Tone), "idle") }

// label returns the accessible name of a node.
func (b topologyBox) label() string {
	return strings.TrimSuffix(Clean(b.Name)+", "+b.Sub, ", ")
}

// shortened returns a name with at most n characters.
func shortened(name string, n int) string {
	r := []rune(Clean(name))
	if len(r) <= n {
		return string(r)
	}
	return strings.TrimSpace(string(r[:n-1])) + "…"
}
