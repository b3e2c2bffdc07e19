package measure_test

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcpgateway/cmd/bench/measure"
)

func TestFormatNumbers(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 0.01234: "0.0123", 0.5: "0.500", 1: "1.00", 1.234: "1.23", 9.994: "9.99", 9.996: "10.0", 12.34: "12.3", 99.94: "99.9", 99.96: "100",
		123.4: "123", 999.4: "999", 1234.5: "1,234", 1234567: "1,234,567", -12.34: "-12.3", -123456: "-123,456",
		math.Inf(1): "–", math.NaN(): "–",
	} {
		if got := measure.FormatNumber(v); got != want {
			t.Errorf("FormatNumber(%v) = %s, want %s", v, got, want)
		}
	}
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 100000: "100,000", 1234567: "1,234,567", -1000: "-1,000"} {
		if got := measure.FormatCount(n); got != want {
			t.Errorf("FormatCount(%d) = %s, want %s", n, got, want)
		}
	}
	for us, want := range map[float64]string{0: "0 µs", 12.4: "12 µs", 999.4: "999 µs", 1000: "1.00 ms", -2500: "-2.50 ms", 1.5e6: "1.50 s"} {
		if got := measure.FormatMicros(us); got != want {
			t.Errorf("FormatMicros(%v) = %s, want %s", us, got, want)
		}
	}
}

func TestRangeOf(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   measure.Range
	}{
		{nil, measure.Range{}},
		{[]float64{3}, measure.Range{Median: 3, Min: 3, Max: 3}},
		{[]float64{4, 1}, measure.Range{Median: 2.5, Min: 1, Max: 4}},
		{[]float64{9, 1, 2}, measure.Range{Median: 2, Min: 1, Max: 9}},
		{[]float64{9, 1, 2, 4}, measure.Range{Median: 3, Min: 1, Max: 9}},
	} {
		given := append([]float64(nil), c.values...)
		if got := measure.RangeOf(c.values...); got != c.want {
			t.Errorf("RangeOf(%v) = %v, want %v", c.values, got, c.want)
		}
		for i := range given {
			if given[i] != c.values[i] {
				t.Errorf("RangeOf(%v) changed its arguments", given)
			}
		}
	}
}

func TestTableFormats(t *testing.T) {
	table := measure.Table{Head: []string{"what", "µs"}, Rows: [][]string{{"a|b", "1"}, {"longer", "1,234"}}, Note: "A note."}
	for want, write := range map[string]func(*strings.Builder) error{
		"what       µs\na|b         1\nlonger  1,234\nA note.\n":                   func(b *strings.Builder) error { return table.WriteText(b) },
		"| what | µs |\n|---|---|\n| a\\|b | 1 |\n| longer | 1,234 |\n\nA note.\n": func(b *strings.Builder) error { return table.WriteMarkdown(b) },
	} {
		var b strings.Builder
		if err := write(&b); err != nil || b.String() != want {
			t.Errorf("wrote (%v)\n%s\nwant\n%s", err, b.String(), want)
		}
	}
}

func TestReplaceInFile(t *testing.T) {
	const begin, end = "<!-- bench: begin -->\n", "<!-- bench: end -->\n"
	for name, c := range map[string]struct{ document, want, wantErr string }{
		"old report":         {"a\n" + begin + "old\n" + end + "b\n", "a\n" + begin + "new\n" + end + "b\n", ""},
		"no report":          {begin + end, begin + "new\n" + end, ""},
		"no marker":          {"a\n", "", "occurs 0 times"},
		"missing end marker": {"a\n" + begin, "", "<!-- bench: end --> occurs 0 times"},
		"repeated marker":    {begin + begin + end, "", "occurs 2 times"},
		"wrong order":        {end + begin, "", "precedes"},
		"marker in a line":   {"x <!-- bench: begin --> y\n" + end, "", "occurs 0 times"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "README.md")
			if err := os.WriteFile(file, []byte(c.document), 0o640); err != nil {
				t.Fatal(err)
			}
			for _, err := range []error{measure.CheckFile(file, "bench"), measure.ReplaceInFile(file, "bench", []byte("\nnew\n\n"))} {
				if (err == nil) != (c.wantErr == "") || err != nil && !strings.Contains(err.Error(), c.wantErr) {
					t.Errorf("got error %v, want %q", err, c.wantErr)
				}
			}
			got, err := os.ReadFile(file)
			if want := c.want; want != "" && (err != nil || string(got) != want) {
				t.Errorf("file = %q, %v, want %q", got, err, want)
			} else if want == "" && string(got) != c.document {
				t.Errorf("file = %q, want it unchanged", got)
			}
		})
	}
	if err := measure.CheckFile(filepath.Join(t.TempDir(), "none"), "bench"); err == nil {
		t.Error("CheckFile of a missing file = nil")
	}
}

func TestMachine(t *testing.T) {
	m := measure.Machine{Cores: 2, CPU: "A Processor", Go: "go1.26", Commit: "abc"}
	if got, want := m.String(), "2 cores, A Processor, go1.26, commit abc"; got != want {
		t.Errorf("String() = %q, want %q", got, want)
	}
	if m := measure.ThisMachine(t.Context(), t.TempDir()); m.Cores < 1 || m.Go == "" || m.Commit != "" {
		t.Errorf("ThisMachine() outside a repository = %+v, want no commit", m)
	}
}
