package matrix_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcpgateway/cmd/conformance/matrix"
	"mcpgateway/services/upstream/upstreamtest"
)

func TestTheTableHasARowForEachPairAndEveryReasonOnce(t *testing.T) {
	var cells []matrix.Cell
	for _, client := range []string{"plain", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"} {
		for _, upstream := range upstreamtest.AllEras() {
			for _, o := range matrix.Operations() {
				cell := matrix.Cell{Client: client, Upstream: string(upstream), Operation: o}
				switch {
				case o == matrix.Search:
					cell.State, cell.Reason = matrix.Impossible, "not offered"
				case o == matrix.Call && upstream == upstreamtest.Era20241105:
					alias := "u" + strings.ReplaceAll(string(upstream), "-", "")
					cell.State, cell.Reason = matrix.Fails, alias+`__echo is gone: {"code":"X","requestId":"`+client+`"}`
				}
				cells = append(cells, cell)
			}
		}
	}
	var out strings.Builder
	if err := matrix.Write(&out, cells); err != nil {
		t.Fatal(err)
	}
	table, reasons, _ := strings.Cut(out.String(), "\n\n")
	rows := strings.Split(table, "\n")
	if len(rows) != 26 {
		t.Errorf("%d rows, want 26:\n%s", len(rows), table)
	}
	for row, want := range map[int]string{
		0: "CLIENT UPSTREAM LIST CALL SEARCH PROGRESS CANCEL ELICIT RESOURCE READ PROMPT GET",
		1: "plain 2024-11-05 ✓ ✗ – ✓ ✓ ✓ ✓ ✓",
		7: "2025-03-26 2025-03-26 ✓ ✓ – ✓ ✓ ✓ ✓ ✓",
	} {
		if got := strings.Join(strings.Fields(rows[row]), " "); got != want {
			t.Errorf("row %d is %q, want %q", row, got, want)
		}
	}
	want := `✗ call: ALIAS__echo is gone: {"code":"X"}
    plain with 2024-11-05
    2025-03-26 with 2024-11-05
    2025-06-18 with 2024-11-05
    2025-11-25 with 2024-11-05
    2026-07-28 with 2024-11-05

– search: not offered
    every client with every upstream
`
	if diff := cmp.Diff(want, reasons); diff != "" {
		t.Error(diff)
	}
}
