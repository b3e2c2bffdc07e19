package matrix

import (
	"fmt"
	"io"
	"regexp"
	"strings"
	"text/tabwriter"

	"mcpgateway/services/upstream/upstreamtest"
)

// maxReasonRunes is how much is shown of a reason.
const maxReasonRunes = 240

// Write writes the table, a row for each client and upstream, and below it
// why a cell says no: first what fails, then what is not possible.
func Write(w io.Writer, cells []Cell) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(table, "CLIENT\tUPSTREAM")
	for _, o := range Operations() {
		fmt.Fprintf(table, "\t%s", strings.ToUpper(string(o)))
	}
	for _, client := range clientEras() {
		upstream := ""
		for _, cell := range cells {
			if cell.Client != client {
				continue
			}
			if cell.Upstream != upstream {
				upstream = cell.Upstream
				fmt.Fprintf(table, "\n%s\t%s", client, upstream)
			}
			fmt.Fprintf(table, "\t%s", cell.State)
		}
	}
	fmt.Fprintln(table)
	if err := table.Flush(); err != nil {
		return err
	}
	writeReasons(w, cells, Fails)
	writeReasons(w, cells, Impossible)
	return nil
}

// String returns the state's mark in the table.
func (s State) String() string {
	switch s {
	case Works:
		return "✓"
	case Impossible:
		return "–"
	}
	return "✗"
}

// reason is why some cells say no.
type reason struct {
	operation Operation
	text      string
}

// writeReasons writes every reason once, with the cells that it holds for.
func writeReasons(w io.Writer, cells []Cell, state State) {
	var order []reason
	where := map[reason]map[string][]string{} // client -> upstreams
	for _, cell := range cells {
		if cell.State != state {
			continue
		}
		// What differs from cell to cell in a message says nothing.
		text := strings.ReplaceAll(cell.Reason, aliasOf(upstreamtest.Era(cell.Upstream)), "ALIAS")
		r := reason{cell.Operation, shorten(requestID.ReplaceAllString(text, ""))}
		if where[r] == nil {
			order = append(order, r)
			where[r] = map[string][]string{}
		}
		where[r][cell.Client] = append(where[r][cell.Client], cell.Upstream)
	}
	for _, r := range order {
		fmt.Fprintf(w, "\n%s %s: %s\n", state, r.operation, r.text)
		for _, line := range places(where[r]) {
			fmt.Fprintf(w, "    %s\n", line)
		}
	}
}

// requestID is the gateway's number of a request in an error.
var requestID = regexp.MustCompile(`,?"requestId":"[^"]*"`)

// places says which cells are meant, a line for each client.
func places(upstreams map[string][]string) []string {
	var lines []string
	complete := 0
	for _, client := range clientEras() {
		switch n := len(upstreams[client]); {
		case n == len(upstreamtest.AllEras()):
			complete++
			lines = append(lines, client+" with every upstream")
		case n > 0:
			lines = append(lines, client+" with "+strings.Join(upstreams[client], ", "))
		}
	}
	if complete == len(clientEras()) {
		return []string{"every client with every upstream"}
	}
	return lines
}

// shorten returns a reason on one line.
func shorten(s string) string {
	runes := []rune(strings.Join(strings.Fields(s), " "))
	if len(runes) > maxReasonRunes {
		return string(runes[:maxReasonRunes]) + "..."
	}
	return string(runes)
}
