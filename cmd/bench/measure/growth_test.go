package measure_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mcpgateway/cmd/bench/measure"

	"github.com/google/go-cmp/cmp"
)

func TestGrowMeasuresSizes(t *testing.T) {
	var steps []string
	g, err := measure.Grow(t.Context(), "rows", measure.Sizes(4000), 3, func(step string) { steps = append(steps, step) }, func(_ context.Context, n int) ([]measure.Reading, error) {
		slow := []float64{1, 7, 1}[(len(steps)-1)/3] // the machine is slow in the second of three rounds
		return []measure.Reading{{Name: "memory", Unit: measure.MiB, Value: 10 + float64(n)/100}, {Name: "search", Unit: measure.Micros, Value: float64(n) * slow}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(slices.Repeat([]string{"1,000 rows", "2,000 rows", "4,000 rows"}, 3), steps); diff != "" {
		t.Error(diff)
	}
	want := [][]string{
		{"rows", "1,000", "2,000", "4,000", "for × 4"},
		{"memory", "20.0 MiB", "30.0 MiB", "50.0 MiB", "× 2.50"},
		{"search", "1.00 ms", "2.00 ms", "4.00 ms", "× 4.00"},
	}
	table := g.Table()
	if diff := cmp.Diff(want, append([][]string{table.Head}, table.Rows...)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]int{1, 1, 1}, measure.Sizes(1)); diff != "" {
		t.Error(diff)
	}
	if f := (measure.Figure{Values: []float64{0, 1}}); f.Factor() != 0 {
		t.Errorf("Factor() from 0 = %v, want 0", f.Factor())
	}
}

func TestFailureEndsGrow(t *testing.T) {
	broken := errors.New("broken")
	_, err := measure.Grow(t.Context(), "rows", measure.Sizes(8), 1, func(string) {}, func(_ context.Context, n int) ([]measure.Reading, error) {
		if n == 4 {
			return nil, broken
		}
		return nil, nil
	})
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "4 rows") {
		t.Errorf("Grow() = %v, want an error that names the size", err)
	}
}

func TestWriteCatalog(t *testing.T) {
	file := filepath.Join(t.TempDir(), "catalog.json")
	if err := measure.WriteCatalog(file, 3000); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var written struct {
		Version int
		Items   []struct{ PublisherName, ServerName, ServerTitle, Description string }
	}
	if err := json.Unmarshal(raw, &written); err != nil || written.Version != 1 || len(written.Items) != 3000 {
		t.Fatalf("version %d with %d rows, %v", written.Version, len(written.Items), err)
	}
	names := map[string]bool{}
	for _, i := range written.Items {
		names[i.PublisherName+"/"+i.ServerName] = true
		if i.ServerTitle == "" || i.Description == "" {
			t.Fatalf("%+v", i)
		}
	}
	if len(names) != len(written.Items) {
		t.Errorf("%d distinct names in %d rows", len(names), len(written.Items))
	}
}
