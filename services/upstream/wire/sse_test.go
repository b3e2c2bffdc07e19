package wire

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

// chunked returns a reader's bytes in pieces of the given sizes.
type chunked struct {
	rest  []byte
	sizes []int
}

func (c *chunked) Read(p []byte) (int, error) {
	if len(c.rest) == 0 {
		return 0, io.EOF
	}
	n := 1
	if len(c.sizes) > 0 {
		n, c.sizes = c.sizes[0], c.sizes[1:]
	}
	n = copy(p[:min(n, len(p))], c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

// reference parses a whole stream in the simplest way.
func reference(stream string) (events []string, lastID string) {
	stream = strings.TrimPrefix(stream, "\xEF\xBB\xBF")
	stream = strings.ReplaceAll(strings.ReplaceAll(stream, "\r\n", "\n"), "\r", "\n")
	lines := strings.Split(stream, "\n")
	var data []string
	name, id, hasID := "message", "", false
	for _, line := range lines[:len(lines)-1] {
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "":
			if hasID {
				lastID = id
			}
			if data != nil {
				events = append(events, name+"|"+strings.Join(data, "\n"))
			}
			data, name, hasID = nil, "message", false
		case field == "data":
			data = append(data, value)
		case field == "event":
			if name = value; name == "" {
				name = "message"
			}
		case field == "id" && !strings.ContainsFunc(value, func(r rune) bool { return r <= ' ' || r > '~' }):
			id, hasID = value, true
		}
	}
	return events, lastID
}

func readAll(src io.Reader, limit int) (events []string, lastID string, err error) {
	r := NewEventReader(src, limit)
	for {
		e, err := r.Next()
		if err != nil {
			return events, r.LastID, err
		}
		events = append(events, e.Name+"|"+string(e.Data))
	}
}

func TestEventsAreIndependentOfChunks(t *testing.T) {
	piece := rapid.SampledFrom([]string{
		"data", "event", "id", "retry", ":", " ", "\n", "\r", "\r\n", "\n\n", "x", "{}", "data: a\n", "id: 7\n", "event: endpoint\n", "\xEF\xBB\xBF",
		strings.Repeat("long ", 2000),
	})
	rapid.Check(t, func(t *rapid.T) {
		stream := strings.Join(rapid.SliceOf(piece).Draw(t, "stream"), "")
		sizes := rapid.SliceOfN(rapid.IntRange(1, 9000), 0, 20).Draw(t, "sizes")
		want, wantID := reference(stream)
		got, gotID, err := readAll(&chunked{rest: []byte(stream), sizes: sizes}, 1<<20)
		if !errors.Is(err, io.EOF) {
			t.Fatalf("%q ended with %v", stream, err)
		}
		if strings.Join(got, "\x00") != strings.Join(want, "\x00") || gotID != wantID {
			t.Fatalf("%q: events %q and ID %q, want %q and %q", stream, got, gotID, want, wantID)
		}
	})
}

func TestEventLimitIsExact(t *testing.T) {
	for _, limit := range []int{100, 4096, 10_000} {
		for _, extra := range []int{-1, 0, 1} {
			for name, stream := range map[string]string{
				"one line":  "data:" + strings.Repeat("x", limit+extra-5) + "\n\n",
				"two lines": "data:x\ndata:" + strings.Repeat("x", limit+extra-11) + "\n\n",
				"no end":    "data:" + strings.Repeat("x", limit+extra-5),
			} {
				_, _, err := readAll(iotest.OneByteReader(strings.NewReader(stream)), limit)
				if tooLarge := errors.Is(err, ErrEventTooLarge); tooLarge != (extra > 0) {
					t.Errorf("%s, limit %d%+d: %v", name, limit, extra, err)
				}
			}
		}
	}
	many := strings.Repeat(": comment\n", 1000) + strings.Repeat("data:x\n\n", 1000)
	if events, _, err := readAll(strings.NewReader(many), 20); !errors.Is(err, io.EOF) || len(events) != 1000 {
		t.Errorf("limit applies to more than one event: %d events, %v", len(events), err)
	}
}

func TestEventDataIsUnchanged(t *testing.T) {
	r := NewEventReader(strings.NewReader("data: "+strings.Repeat("a", 9000)+"\n\ndata: b\n\ndata: "+strings.Repeat("c", 9000)+"\n\n"), 1<<20)
	var all []Event
	for {
		e, err := r.Next()
		if err != nil {
			break
		}
		all = append(all, e)
	}
	if len(all) != 3 || !bytes.Equal(all[0].Data, bytes.Repeat([]byte("a"), 9000)) || string(all[1].Data) != "b" {
		t.Error("later event modified an earlier one")
	}
}

func FuzzEventReader(f *testing.F) {
	for _, s := range []string{"data: a\n\n", ":\r\rdata\rdata\r\r", "id: 1\nretry: 5\nevent: x\ndata:\n\n", "\xEF\xBB\xBFdata: {}\r\n\r\n"} {
		f.Add(s, 3)
	}
	f.Fuzz(func(t *testing.T, stream string, size int) {
		sizes := []int{max(1, size%64)}
		want, wantID := reference(stream)
		got, gotID, err := readAll(&chunked{rest: []byte(stream), sizes: sizes}, 1<<20)
		if !errors.Is(err, io.EOF) && !errors.Is(err, ErrEventTooLarge) {
			t.Fatal(err)
		}
		if errors.Is(err, io.EOF) && (strings.Join(got, "\x00") != strings.Join(want, "\x00") || len(wantID) <= MaxTokenBytes && gotID != wantID) {
			t.Fatalf("%q: events %q and ID %q, want %q and %q", stream, got, gotID, want, wantID)
		}
	})
}
