package measure

import (
	"context"
	"fmt"
)

// parts is the ratio of the largest to the smallest size.
const parts = 4

// Sizes returns a quarter of n, half of n, and n.
func Sizes(n int) []int { return []int{max(n/parts, 1), max(n/2, 1), n} }

// Unit is the unit of a figure.
type Unit string

// Units of figures.
const (
	Micros  Unit = "us"
	MiB     Unit = "MiB"
	KiB     Unit = "KiB"
	Seconds Unit = "s"
)

// Reading is the value of one figure at one size.
type Reading struct {
	Name  string
	Unit  Unit
	Value float64
}

// Figure is the median of one figure at every size.
type Figure struct {
	Name   string    `json:"name"`
	Unit   Unit      `json:"unit"`
	Values []float64 `json:"values"`
}

// Growth is a series of figures at increasing sizes.
type Growth struct {
	Of      string   `json:"of"`
	Sizes   []int    `json:"sizes"`
	Figures []Figure `json:"figures"`
}

// Grow measures all sizes in turn, repeats that times times, and returns the
// medians. With one measurement per size, a machine that slows down during the
// benchmark would look like growth.
func Grow(ctx context.Context, of string, sizes []int, times int, progress func(string), read func(ctx context.Context, n int) ([]Reading, error)) (Growth, error) {
	g := Growth{Of: of, Sizes: sizes}
	var all [][][]float64 // by figure and size
	for range times {
		for at, n := range sizes {
			what := FormatCount(n) + " " + of
			progress(what)
			readings, err := read(ctx, n)
			if err != nil {
				return g, fmt.Errorf("%s: %w", what, err)
			}
			for i, r := range readings {
				if i == len(all) {
					g.Figures = append(g.Figures, Figure{Name: r.Name, Unit: r.Unit})
					all = append(all, make([][]float64, len(sizes)))
				}
				all[i][at] = append(all[i][at], r.Value)
			}
		}
	}
	for i := range all {
		for _, values := range all[i] {
			g.Figures[i].Values = append(g.Figures[i].Values, Median(values...))
		}
	}
	return g, nil
}

// Factor returns the ratio of the value at the largest size to that at the
// smallest, or 0 if there is none.
func (f *Figure) Factor() float64 {
	if len(f.Values) == 0 || f.Values[0] == 0 {
		return 0
	}
	return f.Values[len(f.Values)-1] / f.Values[0]
}

// Table returns the figures by size, with their factors in the last column.
func (g *Growth) Table() Table {
	t := Table{Head: []string{g.Of}}
	for _, n := range g.Sizes {
		t.Head = append(t.Head, FormatCount(n))
	}
	t.Head = append(t.Head, fmt.Sprintf("for × %.3g", float64(g.Sizes[len(g.Sizes)-1])/float64(g.Sizes[0])))
	for _, f := range g.Figures {
		row := []string{f.Name}
		for _, v := range f.Values {
			row = append(row, f.Unit.format(v))
		}
		t.Rows = append(t.Rows, append(row, fmt.Sprintf("× %.2f", f.Factor())))
	}
	return t
}

func (u Unit) format(v float64) string {
	switch u {
	case Micros:
		return FormatMicros(v)
	case MiB:
		return FormatMiB(v)
	case Seconds:
		return FormatMicros(v * 1e6)
	default:
		return FormatNumber(v) + " " + string(u)
	}
}

func mib(bytes int64) float64 { return float64(bytes) / (1 << 20) }
